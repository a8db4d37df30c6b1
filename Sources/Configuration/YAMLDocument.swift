// A YAML document as a tree that knows its lines; the only code that calls libyaml.
internal import CYAML

/// A node of a YAML document.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    case scalar(String)
    /// An empty or `~` value: nothing was said.
    case null
    case sequence([YAMLNode])
    case mapping([Pair])
  }

  struct Pair: Sendable {
    let key: String
    /// The line of the key, counted from 1.
    let line: Int
    let value: YAMLNode
  }

  /// The line where it begins, counted from 1.
  let line: Int
  let content: Content
}

/// What makes a text not a YAML document that settings could be in.
struct YAMLProblem: Error {
  let line: Int
  let found: String
  let expected: String
}

extension YAMLNode {
  /// Reads the one document in `text`; nil if there is none.
  ///
  /// Anchors, aliases, and keys that are not scalars are refused, and so is nesting beyond `depthLimit`: settings need
  /// none of them, and without aliases the tree is never larger than the text.
  static func parse(_ text: [UInt8]) throws(YAMLProblem) -> YAMLNode? {
    try text.withUnsafeBufferPointer { (input: UnsafeBufferPointer<UInt8>) throws(YAMLProblem) -> YAMLNode? in
      guard let start = input.baseAddress, !input.isEmpty else { return nil }
      let reader = try YAMLReader(start, count: input.count)
      defer { reader.close() }
      return try reader.document()
    }
  }
}

/// One pass over libyaml's events. `close()` must be called, while the input is alive.
private struct YAMLReader {
  private static let depthLimit = 16
  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)

  private enum Event {
    case begin, end, documentBegin, documentEnd
    case scalar(String, isPlain: Bool)
    case sequenceBegin, sequenceEnd, mappingBegin, mappingEnd
    case alias
  }

  init(_ start: UnsafePointer<UInt8>, count: Int) throws(YAMLProblem) {
    guard yaml_parser_initialize(parser) == 1 else {
      parser.deallocate()
      throw YAMLProblem(line: 1, found: "no memory to read it", expected: "some")
    }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, start, count)
  }

  func close() {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  func document() throws(YAMLProblem) -> YAMLNode? {
    var root: YAMLNode?
    while true {
      let (event, line) = try next()
      switch event {
      case .begin, .documentEnd:
        continue
      case .documentBegin:
        guard root == nil else { throw YAMLProblem(line: line, found: "a second document", expected: "one") }
        let (event, line) = try next()
        root = try node(event, line, path: [])
      case .end:
        return root
      case .scalar, .sequenceBegin, .sequenceEnd, .mappingBegin, .mappingEnd, .alias:
        throw YAMLProblem(line: line, found: "content outside a document", expected: "a document")
      }
    }
  }

  /// - Parameter path: the keys that lead to the node, for errors.
  private func node(_ event: Event, _ line: Int, path: [String]) throws(YAMLProblem) -> YAMLNode {
    guard path.count < Self.depthLimit else {
      throw YAMLProblem(line: line, found: "more than \(Self.depthLimit) levels", expected: "sections with settings")
    }
    switch event {
    case .scalar(let text, let isPlain):
      return YAMLNode(line: line, content: isPlain && ["", "~", "null"].contains(text) ? .null : .scalar(text))
    case .sequenceBegin:
      return YAMLNode(line: line, content: .sequence(try sequence(path: path)))
    case .mappingBegin:
      return YAMLNode(line: line, content: .mapping(try mapping(path: path)))
    case .alias:
      throw YAMLProblem(line: line, found: "an alias", expected: "the value itself (aliases are not supported)")
    case .begin, .end, .documentBegin, .documentEnd, .sequenceEnd, .mappingEnd:
      throw YAMLProblem(line: line, found: "an end where a value should begin", expected: "a value")
    }
  }

  private func sequence(path: [String]) throws(YAMLProblem) -> [YAMLNode] {
    var members: [YAMLNode] = []
    while true {
      let (event, line) = try next()
      if case .sequenceEnd = event { return members }
      members.append(try node(event, line, path: path + [""]))
    }
  }

  private func mapping(path: [String]) throws(YAMLProblem) -> [YAMLNode.Pair] {
    var pairs: [YAMLNode.Pair] = []
    var lines: [String: Int] = [:]
    while true {
      let (event, line) = try next()
      if case .mappingEnd = event { return pairs }
      guard case .scalar(let key, _) = event else {
        throw YAMLProblem(line: line, found: "a key that is not a name", expected: "NAME: VALUE")
      }
      if let first = lines.updateValue(line, forKey: key) {
        let name = (path + [key]).joined(separator: ".")
        throw YAMLProblem(line: line, found: "\(name) a second time (first in line \(first))", expected: "it once")
      }
      let (value, valueLine) = try next()
      pairs.append(YAMLNode.Pair(key: key, line: line, value: try node(value, valueLine, path: path + [key])))
    }
  }

  private func next() throws(YAMLProblem) -> (Event, line: Int) {
    while true {
      var event = yaml_event_t()
      guard yaml_parser_parse(parser, &event) == 1 else { throw problem() }
      defer { yaml_event_delete(&event) }
      let line = Int(event.start_mark.line) + 1
      switch event.type {
      case YAML_STREAM_START_EVENT: return (.begin, line)
      case YAML_STREAM_END_EVENT: return (.end, line)
      case YAML_DOCUMENT_START_EVENT: return (.documentBegin, line)
      case YAML_DOCUMENT_END_EVENT: return (.documentEnd, line)
      case YAML_ALIAS_EVENT: return (.alias, line)
      case YAML_SCALAR_EVENT:
        let scalar = event.data.scalar
        let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
        return (.scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE), line)
      case YAML_SEQUENCE_START_EVENT: return (.sequenceBegin, line)
      case YAML_SEQUENCE_END_EVENT: return (.sequenceEnd, line)
      case YAML_MAPPING_START_EVENT: return (.mappingBegin, line)
      case YAML_MAPPING_END_EVENT: return (.mappingEnd, line)
      default: continue  // libyaml's enumeration, whose only other member is "no event".
      }
    }
  }

  private func problem() -> YAMLProblem {
    let state = parser.pointee
    let words = [state.problem, state.context].compactMap { $0.map { String(cString: $0) } }.joined(separator: " ")
    // A reader error (bad UTF-8) has an offset but no mark.
    let line = max(Int(state.problem_mark.line), Int(state.mark.line)) + 1
    let reason = words.isEmpty ? "unreadable" : words
    return YAMLProblem(line: line, found: "what YAML does not allow (\(reason))", expected: "YAML")
  }
}
