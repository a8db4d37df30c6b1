// The limits of a message as the settings have them, in the words of the wire.

public import Configuration
public import HTTPWire

extension Settings {
  /// The limits of a head.
  public var headLimits: HeadLimits {
    HeadLimits(
      headBytes: limits.headBytes, fieldCount: limits.fieldCount, targetBytes: limits.targetBytes,
      lineBytes: limits.lineBytes)
  }

  /// The limits of the chunked coding around a body.
  public var chunkLimits: ChunkLimits {
    ChunkLimits(
      extensionBytes: limits.chunkLineBytes, trailerBytes: limits.trailerBytes, trailerCount: limits.trailerCount)
  }
}
