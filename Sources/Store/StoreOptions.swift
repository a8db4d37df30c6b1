// What a store is opened with.

/// Where a store is and how much it may take.
public struct StoreOptions: Sendable {
  /// The store's directory; made when it is missing.
  public var directory: String
  /// The most bytes of bodies on the disk, charged by 4 KiB blocks. The index comes on top.
  public var capacity: UInt64
  /// About how many bytes of memory small bodies and looked-up responses may take.
  public var memoryBudget: Int
  /// The largest body that lives in memory and in pack files, in bytes.
  public var smallBody: Int
  /// The most seconds of work that a loss of power costs.
  public var syncInterval: Double
  /// The most seconds of work that a killed process costs.
  public var journalInterval: Double
  /// The part of the capacity beyond which eviction begins.
  public var highWatermark: Double
  /// The part of the capacity down to which eviction goes.
  public var lowWatermark: Double
  /// Threads that wait for the disk.
  public var diskThreads: Int
  /// The most data files kept open.
  public var openFiles: Int
  /// Bytes of the file system that are left to others.
  public var keepFree: UInt64

  /// A store in `directory` of at most `capacity` bytes; the rest as usual.
  public init(
    directory: String, capacity: UInt64, memoryBudget: Int = 64 << 20, smallBody: Int = 64 << 10,
    syncInterval: Double = 5, journalInterval: Double = 0.5, highWatermark: Double = 0.98,
    lowWatermark: Double = 0.95, diskThreads: Int = 4, openFiles: Int = 1024, keepFree: UInt64 = 64 << 20
  ) {
    self.directory = directory
    self.capacity = capacity
    self.memoryBudget = memoryBudget
    self.smallBody = smallBody
    self.syncInterval = syncInterval
    self.journalInterval = journalInterval
    self.highWatermark = highWatermark
    self.lowWatermark = lowWatermark
    self.diskThreads = diskThreads
    self.openFiles = openFiles
    self.keepFree = keepFree
  }
}
