// The name of one request, by which an error page and the logs can be brought together.

/// Unique for as long as the process runs; spelled only where somebody reads it.
public struct RequestIdentifier: Hashable, Sendable, CustomStringConvertible {
  /// Tells two runs of the program apart.
  let epoch: UInt32
  let number: UInt64

  public var description: String {
    let digits = String(number, radix: 16)
    return String(epoch, radix: 16) + "-" + String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
  }
}
