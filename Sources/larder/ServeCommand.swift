// `larder serve`: puts the parts together, says where it listens, and runs until a signal ends it.

import Admin
import Configuration
import Diagnostics
import EventLoop
import Fill
import Glibc
import Proxy
import Store
import Synchronization
import Threads

enum ServeCommand {
  private static let flags = [
    "--listen": "listen", "--admin": "admin", "--cache-dir": "cache.directory", "--cache-size": "cache.size",
    "--workers": "workers", "--access-log": "log.access_log", "--log-level": "log.level",
  ]

  static func run(_ arguments: [String]) -> ExitCode {
    switch CommandOptions.parse(arguments, flags: flags) {
    case .help:
      Output.print(Help.serve)
      return .success
    case .wrong(let reason):
      Output.error(reason)
      return .usage
    case .settings(let settings):
      return serve(settings)
    }
  }

  /// Serves on other threads; this one is there for the signals' sake: they are blocked before any other is started.
  private static func serve(_ settings: Settings) -> ExitCode {
    // The workers allocate most, and are as good as alone in theirs.
    limitMemoryArenas(to: settings.workers)
    let (signals, continuation) = AsyncStream.makeStream(of: ProcessSignal.self)
    do {
      _ = try SignalSource { continuation.yield($0) }
    } catch {
      Output.error("cannot start: \(error)")
      return .failure
    }
    Task { exit(await serve(settings, signals).rawValue) }
    while true { pause() }
  }

  private static func serve(_ settings: Settings, _ signals: AsyncStream<ProcessSignal>) async -> ExitCode {
    let descriptors = raiseDescriptorLimit()
    let log: Log
    let accessLog: AccessLog?
    do {
      log = try Log(level: settings.log.level.level, to: settings.log.destination.destination)
      accessLog = try AccessLog.open(settings.log)
    } catch {
      Output.error(error.explanation)
      return .failure
    }
    defer {
      accessLog?.close()
      log.flush()
    }
    let store: Store
    do {
      store = try Store.open(storeOptions(settings), log: log)
    } catch {
      Output.error(error.explanation)
      return .failure
    }
    let context = ProxyContext(
      settings: settings, store: store, resolver: Resolver(threads: 4), clock: .system, log: log,
      observer: { accessLog?.write($0) })
    let code = await run(context, log: log, accessLog: accessLog, signals: signals, descriptors: descriptors)
    await context.fills.digests.stop()
    await store.close()
    return code
  }

  /// Runs the listeners until a signal ends them.
  private static func run(
    _ context: ProxyContext, log: Log, accessLog: AccessLog?, signals: AsyncStream<ProcessSignal>, descriptors: Int
  ) async -> ExitCode {
    let state = Readiness()
    let server: ProxyServer
    var admin: AdminServer?
    do {
      server = try await ProxyServer.start(context)
    } catch let error as ProxyStartError {
      Output.error("cannot listen on \(error.address): \(error.reason)")
      return .failure
    } catch {
      Output.error("cannot start: \(error)")
      return .failure
    }
    for address in server.addresses { Output.print("larder: listening on \(address)") }
    if let wanted = context.settings.admin, let address = SocketAddress(ip: wanted.host, port: wanted.port) {
      do {
        if address.port != 0 { try Listener.checkUnused(address) }
        let started = try AdminServer(context: context, isReady: { state.isReady })
        Output.print("larder: admin on \(try await started.listen(on: address))")
        admin = started
      } catch {
        let reason = (error as? StreamError)?.explanation ?? "\(error)"
        Output.error("cannot listen on \(wanted) for the administrator: \(reason)")
        await server.stop()
        return .failure
      }
    }
    state.set(true)
    announce(context, server)
    log.info("started with \(context.settings.workers) workers and \(descriptors) descriptors")
    for await signal in signals {
      switch signal {
      case .hangUp:
        log.reopen()
        accessLog?.reopen()
        continue
      case .terminate:
        state.set(false)
        log.info("draining")
        await drain(server, signals, seconds: context.settings.clients.drainTimeout.inSeconds)
      case .interrupt:
        break
      }
      break
    }
    await server.stop()
    await admin?.stop()
    log.info("stopped")
    return .success
  }

  /// Waits for the responses under way, until the time is over or another signal comes.
  private static func drain(_ server: ProxyServer, _ signals: AsyncStream<ProcessSignal>, seconds: Double) async {
    // Not a task group: what still waits on a loop when that is stopped never returns, and must not be waited for.
    let (events, first) = AsyncStream.makeStream(of: Void.self)
    Task {
      await server.drain()
      first.yield()
    }
    Task {
      try? await Task.sleep(for: .seconds(seconds))
      first.yield()
    }
    Task {
      for await signal in signals where signal != .hangUp { break }
      first.yield()
    }
    for await _ in events { break }
  }

  private static func announce(_ context: ProxyContext, _ server: ProxyServer) {
    if let address = server.addresses.first {
      Output.print("export http_proxy=http://\(address.isUnspecified ? reachable(address) : address)")
    }
    Output.print(
      "larder: cache in \(context.settings.cache.directory); stop with Ctrl-C, or kill -TERM to let downloads end")
    Output.print("larder: ready")
  }

  /// Who listens everywhere is reached under an address of this machine, by others where it has one for them.
  private static func reachable(_ address: SocketAddress) -> SocketAddress {
    let own = SocketAddress.ownAddresses().filter { $0.isIPv6 == address.isIPv6 && !$0.isLinkLocal }
    return (own.first { !$0.isLoopback } ?? own.first ?? address).with(port: address.port)
  }

  private static func storeOptions(_ settings: Settings) -> StoreOptions {
    StoreOptions(
      directory: settings.cache.directory, capacity: settings.cache.size, memoryBudget: settings.cache.memory,
      smallBody: settings.cache.smallBody, syncInterval: settings.cache.syncInterval.inSeconds,
      highWatermark: settings.cache.highWatermark, lowWatermark: settings.cache.lowWatermark,
      diskThreads: settings.cache.diskThreads)
  }
}

/// Whether requests are served, as `/readyz` tells it.
private final class Readiness: Sendable {
  private let ready = Atomic<Bool>(false)

  var isReady: Bool { ready.load(ordering: .relaxed) }

  func set(_ value: Bool) { ready.store(value, ordering: .relaxed) }
}

extension Settings.LogLevel {
  /// The log's own level.
  fileprivate var level: LogLevel {
    switch self {
    case .debug: .debug
    case .info: .info
    case .warning: .warning
    case .error: .error
    }
  }
}

extension Settings.LogDestination {
  fileprivate var destination: LogDestination {
    switch self {
    case .stderr: .standardError
    case .file(let path): .file(path: path)
    }
  }
}
