// What the operator sees: health, metrics, the access log in its forms, Cache-Status.
import Foundation
import TestSupport
import Testing

@Suite struct OperationTests {
  @Test func healthReadinessAndMetricsAnswerOnTheAdminListenerOnly() throws {
    try withRig { rig in
      let larder = try rig.larder()
      #expect(try larder.admin("/healthz").status == 200)
      #expect(try larder.admin("/readyz").status == 200)
      let metrics = try larder.admin("/metrics")
      #expect(metrics.status == 200)
      #expect(metrics.field("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
      #expect(try larder.admin("/none").status == 404)
      let client = try RawClient(port: larder.port)
      try client.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:\(larder.port)\r\n\r\n")
      #expect(try !client.response().text.contains("larder_"))
    }
  }

  /// The text format of Prometheus: HELP and TYPE before the samples, counters named `_total`, each sample a number.
  @Test func metricsFollowPrometheusText() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Cache-Control", "max-age=60")], body: "x") }
      let larder = try rig.larder()
      let requests = { try larder.metric("larder_requests_total") ?? 0 }
      let before = try requests()
      for _ in 0..<3 { _ = try RawClient.fetch(origin.url("/"), through: larder.port) }
      _ = try larder.accessLog(count: 3)
      #expect(try requests() == before + 3)
      var types: [Substring: Substring] = [:]
      for line in try larder.admin("/metrics").text.split(separator: "\n") {
        let words = line.split(separator: " ")
        if line.hasPrefix("# TYPE") { types[words[2]] = words[3] }
        if line.hasPrefix("#") { continue }
        let name = line.prefix { $0 != " " && $0 != "{" }
        #expect(Double(words.last ?? "") != nil, "\(line)")
        let family = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { name.dropLast($0.count) } ?? name
        let type = types[name] ?? types[family]
        #expect(type != nil, "\(name) has no TYPE")
        if type == "counter" { #expect(name.hasSuffix("_total"), "\(name)") }
      }
    }
  }

  @Test func theJSONAccessLogTellsWhereEachByteCameFrom() throws {
    try withRig { rig in
      let body = PatternBody(seed: 171, size: 500_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=0-99999")])
      _ = try client.fetch(origin.url("/"))
      _ = try client.fetch(origin.url("/"))
      let lines = try larder.accessLog(count: 3).map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
      let numbers = { (name: String) in lines.map { ($0[name] as? NSNumber)?.intValue ?? -1 } }
      #expect(numbers("status") == [206, 200, 200])
      #expect(numbers("bytes") == [100_000, 500_000, 500_000])
      #expect(numbers("bytes_from_cache") == [0, 100_000, 500_000])
      #expect(numbers("bytes_from_upstream") == [100_000, 400_000, 0])
      for line in lines {
        #expect(line["client"] as? String == "127.0.0.1")
        #expect(line["method"] as? String == "GET")
        #expect(line["url"] as? String == origin.url("/"))
        #expect((line["duration"] as? NSNumber)?.doubleValue ?? -1 >= 0)
        #expect((line["ttfb"] as? NSNumber)?.doubleValue ?? -1 >= 0)
      }
      #expect((lines[2]["cache_status"] as? String)?.contains("hit") == true)
    }
  }

  /// The gap that a request asks for before its head goes out is its own as well: the first byte of a fresh response, or
  /// the validation of a stale one.
  @Test(arguments: ["max-age=1000", "max-age=0"])
  func theJSONAccessLogCountsAGapThatComesBeforeTheHead(_ control: String) throws {
    try withRig { rig in
      let body = PatternBody(seed: 172, size: 500_000)
      let origin = try rig.origin { exchange in
        var representation = Representation(body)
        representation.fields = [("Cache-Control", control)]
        try representation.serve(exchange)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=100000-199999")])
      #expect(try client.fetch(origin.url("/")).body.count == 500_000)
      let line = try #require(try larder.accessLog(count: 2).last)
      let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      #expect((record["bytes_from_cache"] as? NSNumber)?.intValue == 100_000, "\(line)")
      #expect((record["bytes_from_upstream"] as? NSNumber)?.intValue == 400_000, "\(line)")
    }
  }

  /// Nothing was stored when the request came, so that it is no `partial` (RFC 9211 §2.2).
  @Test func aFirstRequestThatFailsBehindTheHeadIsAMiss() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.head(
          "200 OK", [("ETag", "\"e\""), ("Cache-Control", "max-age=1000"), ("Content-Length", "500000")])
        exchange.finish()
      }
      let larder = try rig.larder(["fills.attempts": "1"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 502)
      #expect(response.field("Cache-Status")?.contains("fwd=uri-miss") == true, "\(response.head)")
    }
  }

  @Test func aResponseThatTheProgramsEndCutsOffIsInTheLog() throws {
    try withRig { rig in
      let body = PatternBody(seed: 172, size: 500_000)
      let gate = rig.gate("never")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 100_000, gate))) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      #expect(try client.responseHead().status == 200)
      _ = try client.read(50_000)
      try larder.stop(.interrupt)
      let lines = try larder.accessLog(count: 1)
      #expect(lines.count == 1)
      let line = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
      #expect(line["ending"] as? String == "aborted")
      #expect(line["status"] as? Int == 200)
      #expect((line["bytes"] as? Int).map { (50_000...100_000).contains($0) } == true, "\(line)")
    }
  }

  @Test func theCommonLogIsReadableByWhatReadsIt() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "hello") }
      let larder = try rig.larder(["log.access_format": "common"])
      _ = try RawClient.fetch(origin.url("/a%20b\"?c"), through: larder.port)
      let line = try #require(try larder.accessLog(count: 1).first)
      // host ident user [day/month/year:time zone] "request" status bytes
      let pattern =
        #/^127\.0\.0\.1 \S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET \S+ HTTP/1\.1" \d{3} \d+/#
      #expect(line.firstMatch(of: pattern) != nil, "\(line)")
      #expect(line.contains(" 200 5"))
    }
  }

  @Test func theAccessLogGoesToStandardOutputOrNowhere() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "hello") }
      let larder = try rig.larder(arguments: ["--access-log", "-"])
      _ = try RawClient.fetch(origin.url("/seen"), through: larder.port)
      try larder.process.waitForLine("a line of the access log") { $0.contains("/seen") ? () : nil }
      #expect(!exists(larder.folders.accessLog))
      let silent = try rig.larder(arguments: ["--access-log", "off"])
      _ = try RawClient.fetch(origin.url("/unseen"), through: silent.port)
      try silent.stop()
      #expect(!silent.process.outputText.contains("/unseen") && !exists(silent.folders.accessLog))
    }
  }

  /// RFC 9211: a member for this cache on every response, `hit` or `fwd` with a reason.
  @Test func cacheStatusIsOnEveryResponse() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        switch exchange.request.target {
        case "/stale":
          if exchange.request.field("If-None-Match") != nil { return try exchange.head("304 Not Modified") }
          try exchange.respond("200 OK", [("Cache-Control", "max-age=0"), ("ETag", "\"a\"")], body: "x")
        case "/no-store": try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "x")
        case "/other":
          try exchange.respond("200 OK", [("Cache-Status", "Far; hit"), ("Cache-Control", "max-age=9")], body: "x")
        default: try exchange.respond("200 OK", [("Cache-Control", "max-age=60")], body: "x")
        }
      }
      let larder = try rig.larder(["name": "pantry"])
      let client = try RawClient(port: larder.port)
      let status = { (path: String, method: String) in
        try client.fetch(origin.url(path), method == "POST" ? [("Content-Length", "0")] : [], method: method)
      }
      let miss = try status("/fresh", "GET")
      #expect(cacheStatus(miss).first?.contains("pantry") == true)
      #expect(cacheStatus(miss).contains("fwd=uri-miss") && cacheStatus(miss).contains("stored"))
      let hit = try status("/fresh", "GET")
      #expect(cacheStatus(hit).contains("hit"))
      #expect(cacheStatus(hit).contains { $0.hasPrefix("ttl=") })
      let post = try status("/fresh", "POST")
      #expect(cacheStatus(post).contains("fwd=method"))
      _ = try status("/stale", "GET")
      let stale = try status("/stale", "GET")
      #expect(cacheStatus(stale).contains("fwd=stale") && cacheStatus(stale).contains("fwd-status=304"))
      let unstored = try status("/no-store", "GET")
      #expect(!cacheStatus(unstored).contains("stored"))
      #expect(cacheStatus(unstored).contains { $0.hasPrefix("detail=") && $0.contains("no-store") })
      #expect(try status("/other", "GET").cacheStatus.hasPrefix("Far"))
    }
  }

  /// Clients from networks that are not named, and destinations that are not allowed, are refused with the reason.
  @Test func accessRulesRefuseWith403() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let strangers = try rig.larder(["access.client_networks": "[192.0.2.0/24]"])
      let refused = try RawClient.fetch(origin.url("/"), through: strangers.port)
      #expect(refused.status == 403 && refused.text.contains("127.0.0.1"))
      let denied = try rig.larder(["access.denied_networks": "[127.0.0.0/8]"])
      #expect(try RawClient.fetch(origin.url("/"), through: denied.port).status == 403)
      #expect(try RawClient.fetch("http://localhost:\(origin.port)/", through: denied.port).status == 403)
      let open = try rig.larder(["listen": "[0.0.0.0:0]"])
      #expect(try RawClient.fetch(origin.url("/"), through: open.port).status == 403)
      let allowed = try rig.larder(["listen": "[0.0.0.0:0]", "access.allow_loopback": "yes", "access.allow_own": "yes"])
      #expect(try RawClient.fetch(origin.url("/"), through: allowed.port).status == 200)
      #expect(origin.requests.count == 1)
    }
  }

  /// RFC 4291 §2.5.5.2: an IPv4-mapped address is the IPv4 address, for every rule and in every spelling.
  @Test func mappedAddressesAreJudgedAsWhatTheyMap() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let spellings = ["[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "127.0.0.1"]
      let refusing = [
        ["access.allow_loopback": "no"], ["access.denied_networks": "[127.0.0.0/8]"],
        ["access.denied_networks": "[\"::ffff:127.0.0.0/104\"]"], ["listen": "[0.0.0.0:0]"],
      ]
      for settings in refusing {
        let larder = try rig.larder(settings.merging(["tunnels.connect_ports": "[\(origin.port)]"]) { $1 })
        for host in spellings {
          let url = "http://\(host):\(origin.port)/"
          #expect(try RawClient.fetch(url, through: larder.port).status == 403, "\(host), \(settings)")
          let client = try RawClient(port: larder.port)
          try client.send("CONNECT \(host):\(origin.port) HTTP/1.1\r\nHost: \(host):\(origin.port)\r\n\r\n")
          #expect(try client.response(to: "CONNECT").status == 403, "CONNECT to \(host), \(settings)")
        }
      }
      #expect(origin.requests.isEmpty)
      let allowing = try rig.larder()
      for (number, host) in spellings.enumerated() {
        #expect(try RawClient.fetch("http://\(host):\(origin.port)/", through: allowing.port).status == 200)
        #expect(origin.requests.count == number + 1)
      }
    }
  }

  @Test func tooManyConnectionsAreShedAndTheRestServed() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let larder = try rig.larder(["clients.connections": "4", "workers": "1"])
      let held = try (0..<4).map { _ in
        let client = try RawClient(port: larder.port)
        #expect(try client.fetch(origin.url("/")).status == 200)
        return client
      }
      let extra = try RawClient(port: larder.port)
      #expect(throws: HarnessError.self) {
        let answer = try extra.fetch(origin.url("/"))
        if answer.status == 503 { throw HarnessError("shed with a word") }
      }
      for client in held { #expect(try client.fetch(origin.url("/")).status == 200) }
    }
  }
}
