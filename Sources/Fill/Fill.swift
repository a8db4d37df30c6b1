// Fill: brings what is missing of a representation from upstream into the store, once, for all who read it.
//
// A fill's life:
//   1. A reader finds a gap and asks the representation's Traffic for it: it joins the fill that has
//      claimed those bytes, or gets a Claim of its own.
//   2. A FillRunner takes the claim and an exchange, checks the answer, and writes what comes into the store.
//   3. After every write the claim moves on: readers that wait are woken, and the fill learns whether to run,
//      to pause (read-ahead) or to stop (nobody reads any more).
//   4. Where upstream breaks off, the rest is asked for under the same validator, with backoff.
//   5. The claim ends with an outcome that every waiting reader sees.

public import Store
public import Upstream

/// How a fill ended.
public enum FillOutcome: Sendable {
  /// Its whole claim is in the store.
  case complete
  /// The origin now has another representation; this one is superseded.
  case changed(reason: String)
  /// The origin answered the request for the rest with a status that ends the matter.
  case refused(status: Int)
  /// Upstream failed, and no resumption helped.
  case failed(UpstreamError)
  /// The answer did not fit what was asked (rule 5); nothing of it was stored.
  case wrong(reason: String)
  /// Upstream stayed silent for too long, and no resumption helped.
  case timedOut(UpstreamError)
  /// The store could not take the bytes.
  case storage(StoreError)
  /// Nobody read any more and too much was missing; what came is kept.
  case cancelled

  /// What comes of an upstream failure that ends a fill.
  public init(_ failure: UpstreamError) {
    self =
      switch failure {
      case .silent, .slow: .timedOut(failure)
      case .cancelled: .cancelled
      case .unresolvable, .unreachable, .forbidden, .busy, .broken, .closedEarly, .malformed, .unavailable, .unusable:
        .failed(failure)
      }
  }

  /// The reason in words.
  public var explanation: String {
    switch self {
    case .complete: "complete"
    case .changed(let reason): "the representation changed at the origin: \(reason)"
    case .refused(let status): "the origin answered \(status) to the request for the rest"
    case .failed(let error), .timedOut(let error): error.explanation
    case .wrong(let reason): "the origin's partial answer was refused: \(reason)"
    case .storage(let error): "the store could not take the bytes: \(error.explanation)"
    case .cancelled: "the fill was stopped because nobody read it any more"
    }
  }
}
