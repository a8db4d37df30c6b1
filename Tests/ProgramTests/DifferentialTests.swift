// Ambiguous messages through Larder to nginx, and straight to nginx, Apache and HAProxy: what Larder passes all of them
// read alike, and what two of them read differently it does not pass (RFC 9112 §11.2).
import Foundation
import TestSupport
import Testing

@Suite struct DifferentialTests {
  /// What a server made of a connection's bytes: the requests that reached the origin behind it, whole.
  struct Reading: Equatable, CustomStringConvertible {
    var requests: [String]

    /// Whether one of the requests is for a target that begins so.
    func asks(for target: String) -> Bool {
      requests.contains { $0.split(separator: " ", maxSplits: 2).dropFirst().first?.hasPrefix(target) == true }
    }

    var description: String { "\(requests)" }
  }

  /// One way to the origin, with an origin of its own.
  final class Route: Sendable {
    let name: String
    let port: UInt16
    private let origin: ScriptedOrigin
    private let complete: RecordedBodies

    init(_ name: String, port: UInt16, origin: ScriptedOrigin, complete: RecordedBodies) {
      self.name = name
      self.port = port
      self.origin = origin
      self.complete = complete
    }

    /// Sends bytes, and returns what the origin got whole, and the first status that came back.
    func read(_ bytes: [UInt8]) throws -> (reading: Reading, firstStatus: Int) {
      _ = complete.take()
      let answer = try converse(port: port, bytes, silence: 1)
      let first = String(decoding: answer.prefix(12), as: UTF8.self).split(separator: " ").last.flatMap { Int($0) }
      return (Reading(requests: complete.take().filter { !$0.contains("/stop") }), first ?? 0)
    }
  }

  /// The requests that came whole, as "METHOD target body".
  final class RecordedBodies: Sendable {
    private let lines = Monitor<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private func recorder(_ rig: Rig) throws -> (ScriptedOrigin, RecordedBodies) {
    let bodies = RecordedBodies()
    let origin = try rig.origin { exchange in
      let body = try exchange.readBody()
      // HAProxy hands the absolute form on.
      var target = exchange.request.target
      if target.hasPrefix("http://") {
        target = "/" + (target.dropFirst(7).split(separator: "/", maxSplits: 1).dropFirst().first ?? "")
      }
      bodies.add("\(exchange.request.method) \(target) \(String(decoding: body, as: UTF8.self).debugDescription)")
      try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "ok")
    }
    return (origin, bodies)
  }

  @Test func whatPassesIsReadAlikeByAll() throws {
    try withRig { rig in
      let (behindNginx, nginxBodies) = try recorder(rig)
      let nginx = try rig.nginx(
        serverLines: """
          location / { proxy_pass http://127.0.0.1:\(behindNginx.port); proxy_http_version 1.1; \
          proxy_set_header Connection ""; }
          """)
      let (behindApache, apacheBodies) = try recorder(rig)
      let apache = try ApachePeer(target: behindApache.port)
      defer { apache.stop() }
      let (behindHAProxy, haproxyBodies) = try recorder(rig)
      let haproxy = try HAProxyPeer(target: behindHAProxy.port)
      defer { haproxy.stop() }
      let relay = try RecordingRelay(to: nginx.port)
      defer { relay.stop() }
      let larder = try rig.larder(["workers": "1"])
      let peers = [
        Route("nginx", port: nginx.port, origin: behindNginx, complete: nginxBodies),
        Route("Apache", port: apache.port, origin: behindApache, complete: apacheBodies),
        Route("HAProxy", port: haproxy.port, origin: behindHAProxy, complete: haproxyBodies),
      ]
      let throughLarder = Route("Larder", port: larder.port, origin: behindNginx, complete: nginxBodies)
      var (passed, disputed) = (0, 0)
      for message in DifferentialCorpus.messages {
        let authority = "127.0.0.1:\(relay.port)"
        let end = "GET http://\(authority)/end HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n\r\n"
        let bytes = message.bytes(authority: authority) + Array(end.utf8)
        let straight = try readings(of: bytes, by: peers)
        _ = relay.takeSent()
        let (own, status) = try throughLarder.read(bytes)
        let sent = relay.takeSent()
        let isDisputed = Set(straight.map(\.requests).filter { !$0.isEmpty }).count > 1
        if isDisputed { disputed += 1 }
        let context = "\(message.section): \(message.name): straight \(straight), by Larder \(own) (\(status))"
        guard own.asks(for: "/m") else {
          // Refused: what may have gone on before the fault was found, no server takes for a whole message.
          #expect(status >= 400, "\(context)")
          for reading in try readings(of: sent, by: peers) {
            #expect(!reading.asks(for: "/m") && !reading.asks(for: "/evil"), "\(context): \(reading)")
          }
          continue
        }
        passed += 1
        let stop = "GET /stop HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        for (peer, reading) in zip(peers, try readings(of: sent + Array(stop.utf8), by: peers)) {
          #expect(reading == own, "\(context): \(peer.name) reads what Larder sent as \(reading)")
        }
        #expect(!own.asks(for: "/evil"), "\(context)")
        if isDisputed { #expect(message.isMended, "\(context): passed, though two read it differently") }
      }
      #expect(DifferentialCorpus.messages.count >= 60)
      #expect(passed >= 10, "some of them have one meaning, and pass")
      #expect(disputed >= 1, "the peers do differ, else this test shows nothing")
    }
  }

  private func readings(of bytes: [UInt8], by peers: [Route]) throws -> [Reading] {
    let results = RecordedReadings()
    try concurrently(
      peers.enumerated().map { index, peer in
        { @Sendable in
          let reading = try peer.read(bytes).reading
          results.values.withLock { $0[index] = reading }
        }
      })
    return peers.indices.map { index in results.values.withLock { $0[index] } ?? Reading(requests: []) }
  }

  private final class RecordedReadings: Sendable {
    let values = Monitor<[Int: Reading]>([:])
  }
}
