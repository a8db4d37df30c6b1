// Who waits for a stream.

extension StreamCore {
  /// A task that waits for input.
  struct Reader {
    let id: UInt64
    let continuation: UnsafeContinuation<StreamError?, Never>
    let deadline: Deadline
  }

  /// A task that waits for output to leave, or for a connection to stand.
  struct Writer {
    let id: UInt64
    let continuation: UnsafeContinuation<StreamError?, Never>
    /// Goes on when at most so many bytes are queued.
    let limit: Int
    /// The seconds that may go by without a byte moved; nil where `deadline` stands as it is.
    let stall: Double?
    var deadline: Deadline
  }
}
