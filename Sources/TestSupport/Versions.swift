// Judges a response by itself: whether its bytes are those of one version of the resource, and its frame is true.

/// The versions that a resource has or has had, told apart by entity tag or, without one, by their bytes.
public struct Versions: Sendable {
  /// One version; the tag with its quotes, nil where the origin gives none.
  public struct Version: Sendable {
    public let tag: String?
    public let body: PatternBody

    public init(_ tag: String?, _ body: PatternBody) {
      self.tag = tag
      self.body = body
    }
  }

  public let all: [Version]

  public init(_ all: [Version]) {
    self.all = all
  }

  /// What a response turned out to be.
  public struct Finding: Sendable {
    /// The place of the version in `all`.
    public let version: Int
    /// The bytes of the version that the head promises.
    public let promised: Range<Int>
  }

  /// Finds which version a 200 or a 206 belongs to.
  ///
  /// Throws where bytes are wrong or of several versions, where the head promises what is not so, and where the end is
  /// clean although bytes are missing.
  ///
  /// - Parameter asked: the single range that was asked for; nil where the whole was.
  public func judge(_ response: RawResponse, asked: Range<Int>? = nil) throws -> Finding {
    var fault = "no version has the tag \(response.field("ETag") ?? "(none)")"
    for (index, version) in all.enumerated() where version.tag == response.field("ETag") {
      guard let promised = promise(of: response, size: version.body.size, asked: asked) else {
        fault = "the head promises what is not so: \(response.head)"
        continue
      }
      if let wrong = version.body.firstMismatch(response.body, at: promised.lowerBound) {
        fault = "byte \(wrong) is not that of version \(index)"
        continue
      }
      if response.body.count > promised.count || response.end == .clean && response.body.count != promised.count {
        fault = "\(response.body.count) bytes instead of \(promised.count), and the end is \(response.end)"
        continue
      }
      return Finding(version: index, promised: promised)
    }
    throw HarnessError(fault)
  }

  /// The bytes that a head promises of a body of that size; nil where it contradicts itself, the size or the request.
  private func promise(of response: RawResponse, size: Int, asked: Range<Int>?) -> Range<Int>? {
    let promised: Range<Int>
    switch response.status {
    case 200:
      promised = 0..<size
    case 206:
      guard let asked, let text = response.field("Content-Range"), text.hasPrefix("bytes ") else { return nil }
      let parts = text.dropFirst("bytes ".count).split { $0 == "-" || $0 == "/" }.map { Int($0) }
      guard parts.count == 3, let first = parts[0], let last = parts[1], first <= last, parts[2] == size else {
        return nil
      }
      promised = first..<last + 1
      guard promised.lowerBound == asked.lowerBound, promised.upperBound <= min(asked.upperBound, size) else {
        return nil
      }
    default:
      return nil
    }
    if let length = response.field("Content-Length"), length != "\(promised.count)" { return nil }
    return promised
  }
}
