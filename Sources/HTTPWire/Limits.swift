// How much a peer may send of what has to be held in memory.

/// Bounds of a head.
public struct HeadLimits: Hashable, Sendable {
  /// Octets of the whole head with its line ends.
  public var headBytes: Int
  public var fieldCount: Int
  /// Octets of a request's target.
  public var targetBytes: Int
  /// Octets of one line with its line end.
  public var lineBytes: Int

  public init(headBytes: Int, fieldCount: Int, targetBytes: Int, lineBytes: Int) {
    self.headBytes = headBytes
    self.fieldCount = fieldCount
    self.targetBytes = targetBytes
    self.lineBytes = lineBytes
  }

  public static let standard = HeadLimits(headBytes: 65536, fieldCount: 256, targetBytes: 16384, lineBytes: 32768)
}

/// Bounds of the chunked coding.
public struct ChunkLimits: Hashable, Sendable {
  /// Octets of all chunk extensions of one body. They carry nothing we use, and each costs the peer little.
  public var extensionBytes: Int
  /// Octets of the trailer section with its line ends.
  public var trailerBytes: Int
  /// Field lines of the trailer section.
  public var trailerCount: Int

  public init(extensionBytes: Int, trailerBytes: Int, trailerCount: Int) {
    self.extensionBytes = extensionBytes
    self.trailerBytes = trailerBytes
    self.trailerCount = trailerCount
  }

  public static let standard = ChunkLimits(extensionBytes: 16384, trailerBytes: 16384, trailerCount: 64)
}
