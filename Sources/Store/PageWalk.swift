// Walking over all pages of LMDB's data file that are in use, without trusting them.
import Glibc

/// What a walk looks at.
enum PageDepth {
  /// All pages.
  case all
  /// Those that lead to others and the list of free ones: a hundredth of all.
  case branches
}

/// Reads the pages of a data file from its head downwards. The pages of a snapshot that somebody holds do not change,
/// so this may be done while another process writes.
struct PageWalk {
  private static let deepest = 32
  /// The most damage that is told.
  private static let most = 100

  private let descriptor: Int32
  private let calls: SystemCalls
  private let fileSize: UInt64
  let head: PageHead
  private let depth: PageDepth
  /// What was found to be wrong, at most a hundred.
  private(set) var damage: [PageDamage] = []
  /// One bit a page: whether something refers to it.
  private var seen: [UInt64]

  private init(_ descriptor: Int32, _ calls: SystemCalls, _ fileSize: UInt64, _ depth: PageDepth, _ head: PageHead) {
    self.descriptor = descriptor
    self.calls = calls
    self.fileSize = fileSize
    self.depth = depth
    self.head = head
    seen = Array(repeating: 0, count: Int(head.lastPage / 64) + 1)
  }

  /// Begins at `head`, one of those that `heads` gives.
  static func from(_ head: PageHead, _ descriptor: Int32, calls: SystemCalls, depth: PageDepth) throws(PageDamage)
    -> PageWalk
  {
    let fileSize = calls.length(of: descriptor) ?? 0
    // Pages that are free may lie behind the end, but not many.
    guard head.lastPage >= 1, head.lastPage < fileSize / UInt64(head.pageSize) + (1 << 20) else {
      throw PageDamage(page: head.transaction % 2, reason: "the last page is \(head.lastPage)")
    }
    return PageWalk(descriptor, calls, fileSize, depth, head)
  }

  /// Begins at the newest head.
  static func newest(_ descriptor: Int32, calls: SystemCalls, depth: PageDepth) throws(PageDamage) -> PageWalk {
    let (first, second) = heads(descriptor, calls)
    let head = try PageHead.newer(try first.get(), try second.get())
    return try from(head, descriptor, calls: calls, depth: depth)
  }

  /// The two heads of a data file. LMDB believes the first one about where the second is.
  static func heads(_ descriptor: Int32, _ calls: SystemCalls) -> (
    first: Result<PageHead, PageDamage>, second: Result<PageHead, PageDamage>
  ) {
    func head(_ page: UInt64, at offset: Int) -> Result<PageHead, PageDamage> {
      do throws(PageDamage) {
        let bytes = try Self.bytes(descriptor, calls, page: page, at: UInt64(offset), PageHead.size)
        return .success(try PageHead.decode(bytes.span.bytes, page: page))
      } catch {
        return .failure(error)
      }
    }
    let first = head(0, at: 0)
    let pageSize = (try? first.get().pageSize) ?? sysconf(Int32(_SC_PAGESIZE))
    return (first, head(1, at: pageSize))
  }

  private static func bytes(
    _ descriptor: Int32, _ calls: SystemCalls, page: UInt64, at offset: UInt64, _ count: Int
  ) throws(PageDamage) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let outcome = bytes.withUnsafeMutableBytes { buffer -> Result<Int, SystemError> in
      do throws(SystemError) {
        return .success(try calls.read(into: buffer, from: descriptor, at: offset))
      } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(count): return bytes
    case .success: throw PageDamage(page: page, reason: "beyond the end of the file")
    case .failure(let error): throw PageDamage(page: page, reason: error.explanation)
    }
  }

  private func read(_ page: UInt64, count: Int = 1) throws(PageDamage) -> [UInt8] {
    let (offset, overflow) = page.multipliedReportingOverflow(by: UInt64(head.pageSize))
    guard !overflow, offset < fileSize, count <= Int(fileSize) else {
      throw PageDamage(page: page, reason: "beyond the end of the file")
    }
    return try Self.bytes(descriptor, calls, page: page, at: offset, head.pageSize * count)
  }

  private mutating func note(_ found: PageDamage) {
    if damage.count < Self.most { damage.append(found) }
  }

  /// Notes that something refers to these pages, for the first time.
  private mutating func claim(_ page: UInt64, count: UInt64 = 1) throws(PageDamage) {
    guard page >= 2, page <= head.lastPage, count <= head.lastPage - page + 1, (page + count - 1) / 64 < seen.count
    else { throw PageDamage(page: page, reason: "no page of this file") }
    for number in page..<page + count {
      guard seen[Int(number / 64)] & (1 << (number % 64)) == 0 else {
        throw PageDamage(page: number, reason: "used twice")
      }
      seen[Int(number / 64)] |= 1 << (number % 64)
    }
  }

  // MARK: Trees

  /// Walks over all trees. Gives each row of a known table; those of damaged pages are left out.
  mutating func run(_ row: (Table, _ key: RawSpan, _ value: RawSpan) -> Void) {
    var tables: [(Table, PageTree)] = []
    walk(head.main, isNumeric: false, depth: .all) { key, value, isTree in
      let name = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      guard isTree, value.byteCount == PageTree.size, let table = Table.allCases.first(where: { $0.name == name }),
        PageTree(value).flags == 0
      else { return "“\(name)” is no table" }
      tables.append((table, PageTree(value)))
      return nil
    }
    for (table, tree) in tables {
      walk(tree, isNumeric: false, depth: depth) { key, value, isTree in
        if isTree { return "a table inside a table" }
        row(table, key, value)
        return nil
      }
    }
    // The free pages last: none of them may be in use.
    var free: [UInt64] = []
    walk(head.free, isNumeric: true, depth: .all) { key, value, isTree in
      guard !isTree, key.byteCount == 8, value.byteCount >= 8 else { return "no list of free pages" }
      let count: UInt64 = value.number(at: 0)
      guard count <= UInt64(value.byteCount / 8 - 1) else { return "a list of free pages that is too long" }
      for index in 0..<Int(count) {
        let page: UInt64 = value.number(at: 8 + 8 * index)
        // They stand in descending order.
        if index > 0, page >= value.number(at: 8 * index) as UInt64 { return "free pages out of order" }
        free.append(page)
      }
      return nil
    }
    for page in free {
      do throws(PageDamage) {
        try claim(page)
      } catch {
        note(error)
      }
    }
  }

  /// Walks over one tree; `row` says what is wrong with a row, if anything is.
  private mutating func walk(
    _ tree: PageTree, isNumeric: Bool, depth: PageDepth,
    _ row: (_ key: RawSpan, _ value: RawSpan, _ isTree: Bool) -> String?
  ) {
    if tree.root == PageTree.none { return }
    visit(tree.root, level: 0, isNumeric: isNumeric, leaves: depth, from: nil, to: nil, row)
  }

  private mutating func visit(
    _ number: UInt64, level: Int, isNumeric: Bool, leaves: PageDepth, from lower: [UInt8]?, to upper: [UInt8]?,
    _ row: (_ key: RawSpan, _ value: RawSpan, _ isTree: Bool) -> String?
  ) {
    do throws(PageDamage) {
      guard level < Self.deepest else { throw PageDamage(page: number, reason: "too deep") }
      try claim(number)
      let bytes = try read(number)
      let span = bytes.span.bytes
      let page = try TreePage(span, number: number)
      try checkOrder(page, span, number, isNumeric, from: lower, to: upper)
      switch page.kind {
      case .leaf:
        for node in page.nodes { try give(node, span, number, row) }
      case .branch:
        let keys = page.nodes.map { node in Array(bytes[node.key]) }
        // All leaves lie equally deep: if the first child is one, so are the others.
        var skips = false
        if leaves == .branches { skips = try isLeaf(page.nodes[0].child) }
        for (index, node) in page.nodes.enumerated() {
          if skips {
            try claim(node.child)
            guard node.child < fileSize / UInt64(head.pageSize) else {
              throw PageDamage(page: node.child, reason: "beyond the end of the file")
            }
          } else {
            visit(
              node.child, level: level + 1, isNumeric: isNumeric, leaves: leaves,
              from: index == 0 ? lower : keys[index],
              to: index + 1 < keys.count ? keys[index + 1] : upper, row)
          }
        }
      }
    } catch {
      note(error)
    }
  }

  private func isLeaf(_ number: UInt64) throws(PageDamage) -> Bool {
    let bytes = try read(number)
    let page = try TreePage(bytes.span.bytes, number: number)
    return page.kind == .leaf
  }

  private mutating func give(
    _ node: TreePage.Node, _ span: RawSpan, _ number: UInt64,
    _ row: (_ key: RawSpan, _ value: RawSpan, _ isTree: Bool) -> String?
  ) throws(PageDamage) {
    let key = span.extracting(node.key)
    var wrong: String?
    if node.isElsewhere {
      let value = try longValue(span.number(at: node.value.lowerBound), size: node.size)
      wrong = row(key, value.span.bytes.extracting(16..<16 + node.size), node.isTree)
    } else {
      wrong = row(key, span.extracting(node.value), node.isTree)
    }
    if let wrong { throw PageDamage(page: number, reason: wrong) }
  }

  /// The pages of a value that is too long for a leaf, their head included.
  private mutating func longValue(_ first: UInt64, size: Int) throws(PageDamage) -> [UInt8] {
    let count = (size + 16 + head.pageSize - 1) / head.pageSize
    try claim(first, count: UInt64(count))
    let bytes = try read(first, count: count)
    let span = bytes.span.bytes
    let flags: UInt16 = span.number(at: 10)
    let pages: UInt32 = span.number(at: 12)
    guard span.number(at: 0) as UInt64 == first, flags == 4, Int(pages) == count else {
      throw PageDamage(page: first, reason: "not the beginning of a long value")
    }
    return bytes
  }

  /// The keys of a page ascend, and lie between those that the page above names.
  private func checkOrder(
    _ page: TreePage, _ span: RawSpan, _ number: UInt64, _ isNumeric: Bool, from lower: [UInt8]?, to upper: [UInt8]?
  ) throws(PageDamage) {
    // The first key of a branch is not looked at by anybody.
    let nodes = page.nodes[(page.kind == .branch ? 1 : 0)...]
    if isNumeric, nodes.contains(where: { $0.key.count != 8 }) {
      throw PageDamage(page: number, reason: "a key is no number")
    }
    for (before, node) in zip(nodes, nodes.dropFirst())
    where Self.compare(span.extracting(before.key), span.extracting(node.key), isNumeric) >= 0 {
      throw PageDamage(page: number, reason: "keys out of order")
    }
    if let lower, let first = nodes.first,
      Self.compare(lower.span.bytes, span.extracting(first.key), isNumeric) > 0
    {
      throw PageDamage(page: number, reason: "a key belongs elsewhere")
    }
    if let upper, let last = nodes.last, Self.compare(span.extracting(last.key), upper.span.bytes, isNumeric) >= 0 {
      throw PageDamage(page: number, reason: "a key belongs elsewhere")
    }
  }

  /// LMDB's order: by octets, then by length; or by number.
  private static func compare(_ first: RawSpan, _ second: RawSpan, _ isNumeric: Bool) -> Int {
    if isNumeric, first.byteCount == 8, second.byteCount == 8 {
      let (first, second): (UInt64, UInt64) = (first.number(at: 0), second.number(at: 0))
      return first < second ? -1 : first == second ? 0 : 1
    }
    let order = first.withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        let count = min(first.count, second.count)
        guard count > 0, let left = first.baseAddress, let right = second.baseAddress else { return Int32(0) }
        return memcmp(left, right, count)
      }
    }
    return order != 0 ? Int(order) : first.byteCount - second.byteCount
  }
}
