// The pages of LMDB's data file (its format 1, of 64-bit little-endian machines), read without trusting them.
//
// LMDB follows what stands in its pages without a look at whether it can be: a flipped bit there is a crash, or another
// table's bytes. So the pages are looked at before LMDB is let near them.

/// What is wrong with a page.
struct PageDamage: Error, Equatable {
  var page: UInt64
  var reason: String

  var explanation: String { "page \(page) of data.mdb: \(reason)" }
}

/// Where a tree begins, and of what kind it is.
struct PageTree: Equatable {
  /// The octets of it in a page.
  static let size = 48
  static let none = UInt64.max

  var flags: UInt16
  /// `none` for an empty one.
  var root: UInt64
}

extension PageTree {
  /// Reads it from its octets; they are `size`.
  init(_ bytes: RawSpan) {
    flags = bytes.number(at: 4)
    root = bytes.number(at: 40)
  }
}

/// The head of a data file: one of its two first pages.
struct PageHead: Equatable {
  /// What must be there of a page to read it.
  static let size = 16 + 136
  private static let magic: UInt32 = 0xBEEF_C0DE
  private static let isHead: UInt16 = 0x08
  /// Keys are numbers.
  private static let hasNumbers: UInt16 = 0x08

  var pageSize: Int
  /// The pages that are free.
  var free: PageTree
  /// The tables.
  var main: PageTree
  /// The last page that was ever used.
  var lastPage: UInt64
  /// The number of the transaction that wrote it.
  var transaction: UInt64

  /// Reads the head in page 0 or 1.
  static func decode(_ bytes: RawSpan, page: UInt64) throws(PageDamage) -> PageHead {
    func fail(_ reason: String) -> PageDamage { PageDamage(page: page, reason: reason) }
    guard bytes.byteCount >= size else { throw fail("cut short") }
    let flags: UInt16 = bytes.number(at: 10)
    let magic: UInt32 = bytes.number(at: 16)
    let version: UInt32 = bytes.number(at: 20)
    guard flags == isHead, magic == Self.magic else { throw fail("not the head of an index") }
    guard version == 1 else { throw fail("version \(version)") }
    let pageSize: UInt32 = bytes.number(at: 40)
    guard (512...32768).contains(pageSize), pageSize.nonzeroBitCount == 1 else { throw fail("page size \(pageSize)") }
    let head = PageHead(
      pageSize: Int(pageSize), free: PageTree(bytes.extracting(40..<40 + PageTree.size)),
      main: PageTree(bytes.extracting(88..<88 + PageTree.size)), lastPage: bytes.number(at: 136),
      transaction: bytes.number(at: 144))
    let number: UInt64 = bytes.number(at: 0)
    guard number == page else { throw fail("it says to be page \(number)") }
    guard head.free.flags == hasNumbers, head.main.flags == 0 else { throw fail("unknown kinds of tables") }
    // Each transaction writes the head that the one before it did not; both of a new file are of transaction 0.
    guard head.transaction == 0 || head.transaction % 2 == page else {
      throw fail("of transaction \(head.transaction), which belongs into the other head")
    }
    return head
  }

  /// The newer of the two, which must be of transactions that follow each other.
  static func newer(_ first: PageHead, _ second: PageHead) throws(PageDamage) -> PageHead {
    guard first.pageSize == second.pageSize else { throw PageDamage(page: 1, reason: "another page size than page 0") }
    let (low, high) = first.transaction < second.transaction ? (first, second) : (second, first)
    guard high.transaction - low.transaction <= 1 else {
      throw PageDamage(
        page: high.transaction % 2, reason: "of transaction \(high.transaction) beside one of \(low.transaction)")
    }
    return high
  }
}

/// A page of a tree, once its nodes are known to lie in it.
struct TreePage {
  enum Kind {
    case branch
    case leaf
  }

  /// A node's place: its key and what belongs to it.
  struct Node {
    var key: Range<Int>
    /// Of a leaf's node, the value, or eight octets that name the page where it begins; empty in a branch.
    var value: Range<Int>
    /// Of a branch's node, the page below it.
    var child: UInt64
    /// Of a leaf's node, the size of the value; greater than that of `value` where it stands in other pages.
    var size: Int
    var isElsewhere: Bool
    var isTree: Bool
  }

  private static let headSize = 16
  private static let nodeHead = 8

  let kind: Kind
  let nodes: [Node]

  /// Reads the page `number` of a tree: every node lies in it, and together they fill what is taken of it.
  init(_ bytes: RawSpan, number: UInt64) throws(PageDamage) {
    func fail(_ reason: String) -> PageDamage { PageDamage(page: number, reason: reason) }
    let found: UInt64 = bytes.number(at: 0)
    guard found == number else { throw fail("it says to be page \(found)") }
    let flags: UInt16 = bytes.number(at: 10)
    switch flags {
    case 1: kind = .branch
    case 2: kind = .leaf
    default: throw fail("of unknown kind \(flags)")
    }
    let lower = Int(bytes.number(at: 12) as UInt16)
    let upper = Int(bytes.number(at: 14) as UInt16)
    guard lower >= Self.headSize, lower % 2 == 0, lower <= upper, upper <= bytes.byteCount else {
      throw fail("its free part is \(lower) to \(upper)")
    }
    let count = (lower - Self.headSize) / 2
    guard count >= (kind == .branch ? 2 : 1) else { throw fail("it has \(count) nodes") }
    var nodes: [Node] = []
    nodes.reserveCapacity(count)
    var taken = 0
    for index in 0..<count {
      let offset = Int(bytes.number(at: Self.headSize + 2 * index) as UInt16)
      guard offset >= upper, offset % 2 == 0, offset + Self.nodeHead <= bytes.byteCount else {
        throw fail("node \(index) is at \(offset)")
      }
      let node = try Self.node(bytes, offset, kind, number)
      nodes.append(node)
      // Nodes begin at even places.
      taken += (max(node.key.upperBound, node.value.upperBound) - offset + 1) & ~1
    }
    guard taken == bytes.byteCount - upper else { throw fail("its nodes take \(taken) octets") }
    self.nodes = nodes
  }

  private static func node(_ bytes: RawSpan, _ offset: Int, _ kind: Kind, _ page: UInt64) throws(PageDamage) -> Node {
    let low: UInt16 = bytes.number(at: offset)
    let high: UInt16 = bytes.number(at: offset + 2)
    let flags: UInt16 = bytes.number(at: offset + 4)
    let key = offset + nodeHead..<offset + nodeHead + Int(bytes.number(at: offset + 6) as UInt16)
    let isRight: Bool
    let node: Node
    switch kind {
    case .branch:
      let child = UInt64(low) | UInt64(high) << 16 | UInt64(flags) << 32
      node = Node(
        key: key, value: key.upperBound..<key.upperBound, child: child, size: 0, isElsewhere: false, isTree: false)
      isRight = true
    case .leaf:
      let size = Int(low) | Int(high) << 16
      let isElsewhere = flags & 1 != 0
      let value = key.upperBound..<key.upperBound + (isElsewhere ? 8 : size)
      node = Node(key: key, value: value, child: 0, size: size, isElsewhere: isElsewhere, isTree: flags == 2)
      // Lists of values under one key (4) are not used.
      isRight = flags <= 2 && !key.isEmpty
    }
    guard isRight, node.key.upperBound <= bytes.byteCount, node.value.upperBound <= bytes.byteCount else {
      throw PageDamage(page: page, reason: "the node at \(offset) is not right")
    }
    return node
  }
}

extension RawSpan {
  /// The little-endian number at a place that is known to be there.
  func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number {
    Number(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
  }
}
