// Apache and HAProxy in front of an origin of ours, each with its own folder and configuration.
internal import Glibc

private let serverPath = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]

/// A real server that hands what it reads to the origin on `target`.
public protocol PeerServer: Sendable {
  var port: UInt16 { get }
  func stop()
}

/// HAProxy on 127.0.0.1. Its listening socket is made here and handed over, so nobody can take the port.
public final class HAProxyPeer: PeerServer {
  public let port: UInt16
  private let folder: TemporaryFolder
  private let process: ChildProcess

  public init(target: UInt16) throws {
    folder = try TemporaryFolder("larder-haproxy")
    let listener = try ListeningSocket()
    port = listener.port
    try writeFile(
      folder.file("haproxy.cfg"),
      """
      global
        maxconn 100
      defaults
        mode http
        timeout connect 10s
        timeout client 60s
        timeout server 60s
      frontend front
        bind fd@3
        default_backend back
      backend back
        server origin 127.0.0.1:\(target)

      """)
    process = try ChildProcess(
      "haproxy", ["-db", "-f", folder.file("haproxy.cfg")], environment: serverPath, inherited: listener.descriptor)
    try waitUntilItAnswers(port, process, "HAProxy")
  }

  public func stop() {
    process.kill9()
    folder.remove()
  }
}

/// Apache on 127.0.0.1, with nothing but its proxy.
public final class ApachePeer: PeerServer {
  public let port: UInt16
  private let folder: TemporaryFolder
  private let process: ChildProcess

  public init(target: UInt16) throws {
    folder = try TemporaryFolder("larder-apache")
    var failures = 0
    while true {
      // It cannot be handed a socket: should somebody take the port in between, another is tried.
      let free = try ListeningSocket(listens: false).port
      let started = try Self.start(in: folder, port: free, target: target)
      do {
        try waitUntilItAnswers(free, started, "Apache")
        (port, process) = (free, started)
        return
      } catch {
        started.kill9()
        failures += 1
        if failures == 5 { throw error }
      }
    }
  }

  private static func start(in folder: TemporaryFolder, port: UInt16, target: UInt16) throws -> ChildProcess {
    let modules = ["mpm_event", "authz_core", "proxy", "proxy_http"]
      .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
    try writeFile(
      folder.file("apache.conf"),
      """
      ServerRoot \(folder.path)
      DefaultRuntimeDir \(folder.path)
      PidFile \(folder.path)/apache.pid
      ErrorLog \(folder.path)/error.log
      ServerName localhost
      User www-data
      Group www-data
      Listen 127.0.0.1:\(port)
      \(modules)
      StartServers 1
      AllowEncodedSlashes NoDecode
      ProxyPass / http://127.0.0.1:\(target)/ nocanon

      """)
    return try ChildProcess(
      "apache2", ["-d", folder.path, "-f", folder.file("apache.conf"), "-D", "FOREGROUND"], environment: serverPath)
  }

  public func stop() {
    process.kill9()
    folder.remove()
  }
}

/// Waits for the answer to a request of its own, which the origin behind sees too.
private func waitUntilItAnswers(_ port: UInt16, _ process: ChildProcess, _ name: String) throws {
  let limit = monotonicSeconds() + Patience.seconds
  while monotonicSeconds() < limit {
    if let end = process.end { throw HarnessError("\(name) ended: \(end)\n\(process.outputText)\(process.errorText)") }
    if let client = try? RawClient(port: port) {
      let answer = try? client.fetch("http://127.0.0.1:\(port)/ready", method: "OPTIONS")
      client.close()
      if answer?.status == 200 { return }
    }
    sched_yield()
  }
  throw HarnessError("\(name) does not answer: \(process.errorText)")
}
