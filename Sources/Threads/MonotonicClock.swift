// The clock that only goes forward.
public import Glibc

/// Nanoseconds of the monotonic clock (CLOCK_MONOTONIC): what deadlines of waits are counted in. May be asked on any
/// thread.
@inlinable
public func monotonicNanoseconds() -> UInt64 {
  var moment = timespec()
  clock_gettime(CLOCK_MONOTONIC, &moment)
  return UInt64(moment.tv_sec) &* 1_000_000_000 &+ UInt64(moment.tv_nsec)
}
