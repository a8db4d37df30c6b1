// The time of day, for records.
import Glibc

/// Seconds since 1970.
func wallSeconds() -> UInt64 {
  var moment = timespec()
  clock_gettime(CLOCK_REALTIME, &moment)
  return UInt64(max(0, moment.tv_sec))
}
