// What all workers of the proxy share; every part of it is safe to use from any of them.

import CachePolicy
public import Configuration
public import Diagnostics
public import EventLoop
public import Fill
import HTTPMessage
public import Store
import Synchronization
public import Upstream

/// The shared parts of one proxy.
public final class ProxyContext: Sendable {
  public let settings: Settings
  public let store: Store
  public let fills: FillTable
  public let resolver: Resolver
  public let clock: Clock
  public let log: Log
  public let upstreamCounters = UpstreamCounters()
  public let counters = ProxyCounters()
  /// Called once for each request that is over, on the loop that served it.
  public let observer: @Sendable (RequestRecord) -> Void
  let access: AccessRules
  let clients = AddressCounts()
  let rules: CacheRules
  let codingRules: CodingRules
  /// What Cache-Status calls us.
  let cacheName: CacheName
  let clientTimes: ClientTimes
  /// What we add to `Via` of what came as HTTP/1.1, and as HTTP/1.0 (RFC 9110 §7.6.3).
  private let via: (http11: FieldValue, http10: FieldValue)
  let collapser = Collapser()
  /// Keys whose last response could not be shared: nobody waits for them.
  let passMemory: KeyMemory
  /// Keys of which the last part could not be shared: who asks for a part waits for nobody.
  let partMemory: KeyMemory
  /// Keys whose validator changed again and again: they are passed for a while.
  let unstable: KeyMemory
  private let sequence = Atomic<UInt64>(0)
  private let epoch = UInt32.random(in: 0...(.max))
  private let draining = Atomic<Bool>(false)

  public init(
    settings: Settings, store: Store, resolver: Resolver, clock: Clock, log: Log,
    observer: @escaping @Sendable (RequestRecord) -> Void
  ) {
    self.settings = settings
    self.store = store
    self.resolver = resolver
    self.clock = clock
    self.log = log
    self.observer = observer
    fills = FillTable(store: store, settings: settings, clock: clock, log: log)
    access = AccessRules(settings)
    rules = CacheRules(
      heuristicFraction: settings.freshness.heuristicFraction,
      heuristicMaximum: settings.freshness.heuristicMax.components.seconds,
      targetedFields: settings.freshness.targetedFields.compactMap { FieldName($0) },
      storesSetCookie: settings.freshness.storeSetCookie,
      staleIfError: settings.freshness.staleIfError.components.seconds)
    cacheName = CacheName(settings.name)
    codingRules = CodingRules(encodes: settings.coding.gzip, minimum: settings.coding.gzipMinimum)
    clientTimes = ClientTimes(settings.clients)
    via = (
      FieldValue("1.1 \(settings.name)") ?? "1.1 larder", FieldValue("1.0 \(settings.name)") ?? "1.0 larder"
    )
    passMemory = KeyMemory(seconds: settings.fills.passMemory.inSeconds)
    partMemory = KeyMemory(seconds: settings.fills.passMemory.inSeconds)
    unstable = KeyMemory(seconds: settings.fills.passMemory.inSeconds)
  }

  /// The wall clock's time.
  var now: Timestamp { Timestamp(seconds: clock.now()) }

  /// A new request's identifier, unique for this process.
  func makeIdentifier() -> RequestIdentifier {
    RequestIdentifier(epoch: epoch, number: sequence.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// What we add to `Via` of what we forward (RFC 9110 §7.6.3): the protocol as received, and this instance.
  func via(receivedOver version: HTTPVersion) -> FieldValue {
    switch version {
    case .http11: via.http11
    case .http10: via.http10
    }
  }

  /// Whether connections are to be closed after their current response.
  var isDraining: Bool { draining.load(ordering: .relaxed) }

  func beginDraining() { draining.store(true, ordering: .relaxed) }
}
