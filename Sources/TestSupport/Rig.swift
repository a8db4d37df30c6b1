// The stage of one test: it makes the peers, holds them, and takes everything down at the end.

/// The peers and folders of one test.
public final class Rig: Sendable {
  /// The test's folder.
  public let folder: TemporaryFolder
  private let held = Monitor(Held())

  private struct Held {
    var larders: [LarderProcess] = []
    var origins: [NginxOrigin] = []
    var scripted: [ScriptedOrigin] = []
    var relays: [FaultRelay] = []
    var gates: [ManualGate] = []
    var listeners: [ListeningSocket] = []
    var folders = 0
  }

  fileprivate init() throws {
    folder = try TemporaryFolder()
  }

  /// Starts a Larder with a new cache, or on what another has left behind.
  public func larder(
    _ settings: [String: String] = [:], on folders: LarderProcess.Folders? = nil, arguments: [String] = [],
    environment: [String: String] = [:]
  ) throws -> LarderProcess {
    let folders = try folders ?? self.folders()
    let larder = try LarderProcess(in: folders, settings: settings, arguments: arguments, environment: environment)
    held.withLock { $0.larders.append(larder) }
    return larder
  }

  /// New folders for a Larder.
  public func folders(cache: String? = nil) throws -> LarderProcess.Folders {
    let number = held.withLock { held in
      held.folders += 1
      return held.folders
    }
    let path = folder.file("larder-\(number)")
    try makeFolder(path)
    return LarderProcess.Folders(path, cache: cache)
  }

  public func nginx(serverLines: String = "") throws -> NginxOrigin {
    let origin = try NginxOrigin(serverLines: serverLines)
    held.withLock { $0.origins.append(origin) }
    return origin
  }

  public func origin(_ script: @escaping @Sendable (Exchange) throws -> Void) throws -> ScriptedOrigin {
    let origin = try ScriptedOrigin(script)
    held.withLock { $0.scripted.append(origin) }
    return origin
  }

  public func relay(to port: UInt16, _ fault: @escaping @Sendable (Int) -> RelayFault) throws -> FaultRelay {
    let relay = try FaultRelay(to: port, fault)
    held.withLock { $0.relays.append(relay) }
    return relay
  }

  /// A gate that opens at the end of the test at the latest, so that nobody stays behind it.
  public func gate(_ name: String) -> ManualGate {
    let gate = ManualGate(name)
    held.withLock { $0.gates.append(gate) }
    return gate
  }

  /// A port that accepts connections and never says anything, or one that refuses them.
  public func deadPort(accepting: Bool) throws -> UInt16 {
    let listener = try ListeningSocket(listens: accepting)
    held.withLock { $0.listeners.append(listener) }
    return listener.port
  }

  /// Stops the proxies in order and then nginx, after which the log is complete, and returns it.
  public func settledLog(of nginx: NginxOrigin) throws -> [OriginLogEntry] {
    for larder in held.withLock({ $0.larders }) where larder.process.end == nil { try larder.stop() }
    try nginx.quit()
    return try nginx.log()
  }

  /// Throws what a sanitizer has reported of a process under test, whatever else came of the test.
  fileprivate func demandNoReport() throws {
    for larder in held.withLock({ $0.larders }) {
      let text = larder.errorText
      for sign in ["ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer"] {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = parts.firstIndex(where: { $0.contains(sign) }) else { continue }
        throw HarnessError("larder \(larder.port):\n" + parts[start...].prefix(120).joined(separator: "\n"))
      }
    }
  }

  fileprivate var diagnosis: String {
    let held = held.withLock { $0 }
    let larders = held.larders.map { larder in
      let end = larder.process.end.map { "\($0)" } ?? "running"
      return "larder \(larder.port) (\(end)), its log ends:\n\(larder.errorText.suffix(6000))"
    }
    let scripted = held.scripted.map { origin in
      "requests at \(origin.port):\n"
        + origin.requests.suffix(12).map { "\($0.head.description)\n(\($0.bodyBytesSent) body bytes sent)" }
        .joined(separator: "\n\n")
    }
    let logs = held.origins.map { origin in
      "nginx \(origin.port):\n" + ((try? origin.log()) ?? []).suffix(20).map(\.description).joined(separator: "\n")
    }
    return (larders + scripted + logs).joined(separator: "\n---\n")
  }

  fileprivate func takeDown() {
    let held = held.withLock { $0 }
    for gate in held.gates { gate.open() }
    for larder in held.larders { larder.kill9() }
    for relay in held.relays { relay.stop() }
    for origin in held.scripted { origin.stop() }
    for origin in held.origins { origin.stop() }
    for listener in held.listeners { listener.interrupt() }
    folder.remove()
  }
}

/// Runs a test on a stage of its own. A thrown error carries what the peers have to say.
public func withRig(_ body: (Rig) throws -> Void) throws {
  let rig = try Rig()
  defer { rig.takeDown() }
  do {
    try body(rig)
  } catch {
    try rig.demandNoReport()
    throw HarnessError("\(error)\n---\n\(rig.diagnosis)")
  }
  try rig.demandNoReport()
}

/// A stage that the tests of a suite share.
public func withSharedRig(_ body: (Rig) async throws -> Void) async throws {
  let rig = try Rig()
  defer { rig.takeDown() }
  do {
    try await body(rig)
  } catch {
    try rig.demandNoReport()
    throw HarnessError("\(error)\n---\n\(rig.diagnosis)")
  }
  try rig.demandNoReport()
}

/// What a test expects; unlike an assertion it ends the test, and its error carries what the peers have to say.
public func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  if !condition { throw HarnessError(what()) }
}

/// Demands that two values are equal.
public func demandEqual<Value: Equatable>(_ found: Value, _ expected: Value, _ what: @autoclosure () -> String) throws {
  if found != expected { throw HarnessError("\(what()): found \(found), expected \(expected)") }
}
