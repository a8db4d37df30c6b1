// Figures of a store, for metrics.

/// What a store has and did; counts are since it was opened, sizes are of now.
public struct StoreStatistics: Sendable {
  /// Bytes charged against the capacity.
  public var bytesStored: UInt64 = 0
  /// The most bytes it may take.
  public var capacity: UInt64 = 0
  /// Bytes promised to writes that are to come.
  public var bytesReserved: UInt64 = 0
  /// Representations on record, also those of no more than a few bytes.
  public var representations = 0
  /// Cache keys with at least one response, as far as the index has been read (it is, soon after start).
  public var objects = 0
  /// Bytes of small bodies in memory.
  public var memoryTierBytes = 0
  /// Data files that are open.
  public var openFiles = 0
  /// Representations, or segments of one, removed to make room.
  public var evictions = 0
  /// Bytes removed to make room.
  public var evictedBytes = 0
  /// Bytes written by fills.
  public var bytesWritten = 0
  /// Failed writes, syncs and commits.
  public var writeErrors = 0
  /// Failed reads.
  public var readErrors = 0
  /// Extents whose bytes did not have their checksum.
  public var checksumErrors = 0
  /// Extents whose bytes were gone from their file.
  public var missingData = 0
  /// Rows of the index that did not have their checksum, and failed looks into it.
  public var indexErrors = 0
  /// Index commits.
  public var commits = 0
  /// Bytes of index changes that are not durable yet.
  public var pendingCommitBytes = 0
  /// Writes that went to the disk threads because the disk throttled.
  public var throttledWrites = 0
  /// Pack files removed after their live bodies were copied out.
  public var packsReclaimed = 0
  /// Rows of the index that were read: what a look-up costs.
  public var indexRowsRead = 0
  /// Reads that waited for the disk.
  public var diskReads = 0
}
