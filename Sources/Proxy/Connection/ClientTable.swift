// The client connections of one worker by address, and which of them may go when there are too many.

import EventLoop
import Synchronization

/// How many connections each client address has, over all workers.
final class AddressCounts: Sendable {
  private let counts = Mutex<[[UInt8]: Int]>([:])

  /// Counts one more, and returns how many the address has now.
  func add(_ address: [UInt8]) -> Int {
    counts.withLock {
      $0[address, default: 0] += 1
      return $0[address, default: 0]
    }
  }

  /// How many the address has.
  func count(of address: [UInt8]) -> Int { counts.withLock { $0[address] ?? 0 } }

  func remove(_ address: [UInt8]) {
    counts.withLock {
      guard let count = $0[address] else { return }
      $0[address] = count > 1 ? count - 1 : nil
    }
  }
}

/// The connections of one address on one worker. Bound to the worker's loop.
///
/// Those without a request under way stand in a list, longest wait first: they are what costs a client least to lose
/// and what an attacker holds.
final class ClientAddress {
  let bytes: [UInt8]
  fileprivate(set) var count = 0
  private var first: ClientConnection?
  private unowned var last: ClientConnection?
  /// How many connections may go at once, and how many more with every second: a client that opens what was closed
  /// again and again must not occupy the worker with that.
  private let replacements: (most: Double, perSecond: Double)
  private var left: Double
  private var counted = Deadline.now

  fileprivate init(_ bytes: [UInt8], limit: Int) {
    self.bytes = bytes
    replacements = (5 * Double(limit), Double(limit) / 4)
    left = replacements.most
  }

  /// The connection that may go for a new one: the one that has waited longest for a request, unless too many have
  /// gone lately.
  var replaceable: ClientConnection? {
    let now = Deadline.now
    left = min(replacements.most, left + now.seconds(since: counted) * replacements.perSecond)
    counted = now
    return left >= 1 ? first : nil
  }

  /// One of its connections goes for a new one.
  func countReplacement() { left -= 1 }

  /// `connection` begins to wait for a request.
  func beginWait(_ connection: ClientConnection) {
    guard !connection.wait.isListed else { return }
    connection.wait.isListed = true
    connection.wait.previous = last
    if let last { last.wait.next = connection } else { first = connection }
    last = connection
  }

  /// `connection` has a request, or has ended.
  func endWait(_ connection: ClientConnection) {
    guard connection.wait.isListed else { return }
    let (previous, next) = (connection.wait.previous, connection.wait.next)
    if let previous { previous.wait.next = next } else { first = next }
    if let next { next.wait.previous = previous } else { last = previous }
    connection.wait = WaitLinks()
  }
}

/// A connection's place among those that wait. It is in the list only while its worker's table holds it.
struct WaitLinks {
  fileprivate var isListed = false
  fileprivate unowned var previous: ClientConnection?
  fileprivate var next: ClientConnection?
}

/// The client connections of one worker. Bound to its loop.
final class ClientTable {
  private var connections: [ObjectIdentifier: ClientConnection] = [:]
  private var addresses: [[UInt8]: ClientAddress] = [:]
  private let limitPerAddress: Int

  init(limitPerAddress: Int) { self.limitPerAddress = limitPerAddress }

  var isEmpty: Bool { connections.isEmpty }
  var all: some Collection<ClientConnection> { connections.values }

  func address(_ bytes: [UInt8]) -> ClientAddress {
    if let known = addresses[bytes] { return known }
    let new = ClientAddress(bytes, limit: limitPerAddress)
    addresses[bytes] = new
    return new
  }

  func add(_ connection: ClientConnection) {
    connections[ObjectIdentifier(connection)] = connection
    connection.address.count += 1
    connection.address.beginWait(connection)
  }

  /// False where it was removed before.
  func remove(_ connection: ClientConnection) -> Bool {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return false }
    let address = connection.address
    address.endWait(connection)
    address.count -= 1
    if address.count == 0 { addresses[address.bytes] = nil }
    return true
  }
}
