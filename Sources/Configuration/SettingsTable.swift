// The one table of all settings: name, form, place in Settings, and a line on what it does.

/// One setting as the settings file, the command line and the documentation know it.
public struct Setting: Sendable {
  /// The name with its section, as in `cache.size`.
  public let name: String
  /// One line on what it does.
  public let summary: String
  /// What a value looks like, in words; reads on from "expected".
  public let expected: String
  /// Whether it takes several values.
  public let isList: Bool
  /// Sets it from texts; returns the first text that is not of the right form.
  let assign: @Sendable (inout Settings, [String]) -> String?
  /// Its values as texts.
  public let values: @Sendable (Settings) -> [String]

  /// Its value as a settings file would have it.
  public func text(in settings: Settings) -> String {
    let scalars = values(settings).map { text in
      // What else a scalar may begin with means something in YAML.
      let isPlain = text.first.map { $0.isLetter || $0.isNumber || $0 == "/" } == true && !text.contains(", ")
      return isPlain ? text : "\"\(text)\""
    }
    return isList ? "[\(scalars.joined(separator: ", "))]" : scalars.joined()
  }

  /// The part of the name before the dot; nil for settings outside any section.
  public var section: String? {
    name.firstIndex(of: ".").map { String(name[..<$0]) }
  }

  /// The name without its section.
  public var shortName: String {
    name.firstIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? name
  }

  init<Value>(
    _ name: String, _ path: any WritableKeyPath<Settings, Value> & Sendable, _ form: SettingForm<Value>,
    _ summary: String
  ) {
    self.name = name
    self.summary = summary
    expected = form.expected
    isList = false
    values = { [form.format($0[keyPath: path])] }
    assign = { settings, texts in
      guard let text = texts.last else { return "" }
      guard let value = form.parse(text) else { return text }
      settings[keyPath: path] = value
      return nil
    }
  }

  init<Value>(
    _ name: String, _ path: any WritableKeyPath<Settings, [Value]> & Sendable, listOf form: SettingForm<Value>,
    _ summary: String
  ) {
    self.name = name
    self.summary = summary
    expected = form.expected
    isList = true
    values = { $0[keyPath: path].map(form.format) }
    assign = { settings, texts in
      var list: [Value] = []
      for text in texts {
        guard let value = form.parse(text) else { return text }
        list.append(value)
      }
      settings[keyPath: path] = list
      return nil
    }
  }
}

/// All settings, in the order in which they are documented.
public enum SettingsTable {
  /// The sections and what each is about, in order.
  public static let sections: [(name: String, summary: String)] = [
    ("cache", "The store on disk and its memory tier."),
    ("fills", "How bodies are brought from upstream into the store."),
    ("upstream", "Connections to origins."),
    ("clients", "Connections from clients."),
    ("limits", "What is accepted of a message; beyond a limit it is refused."),
    ("tunnels", "CONNECT and Upgrade."),
    ("access", "Who may use the proxy, and for which destinations."),
    ("freshness", "How long responses may be reused, where the origin leaves it open."),
    ("integrity", "What completed objects are compared with, beside Repr-Digest, Content-Digest and Digest."),
    ("coding", "Content codings that the proxy itself puts on what it has stored."),
    ("log", "Logs."),
  ]

  /// The setting of that name.
  public static func setting(named name: String) -> Setting? { byName[name] }

  static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  public static let all: [Setting] = general + cache + fills + upstream + clients + limits + rest

  private static let general: [Setting] = [
    Setting("listen", \.listen, listOf: .address, "Addresses that clients connect to."),
    Setting("admin", \.admin, .addressOrOff, "Address of the administrative listener (health, metrics), or off."),
    Setting("workers", \.workers, .count(through: 1024), "Worker threads; 0 is one for each core."),
    Setting("name", \.name, .tokenOrAuto, "Name of this instance in Via and Cache-Status; auto makes up a unique one."),
    Setting(
      "offline", \.offline, .flag,
      "Whether nothing is asked of origins: what is stored is served whatever its age, else 504 is given."),
  ]

  private static let cache: [Setting] = [
    Setting(
      "cache.directory", \.cache.directory, .pathOrAuto,
      "Where the cache is; auto is /var/cache/larder for root, else ~/.cache/larder (XDG_CACHE_HOME)."),
    Setting("cache.size", \.cache.size, .size(1 << 20), "Most that the cache may occupy on disk."),
    Setting("cache.memory", \.cache.memory, .size(), "Most that bodies in memory may occupy."),
    Setting(
      "cache.small_body", \.cache.smallBody, .size(through: 1 << 20),
      "Bodies up to this size are kept in memory and in pack files; larger ones get a file each."),
    Setting("cache.status_key", \.cache.statusKey, .flag, "Whether Cache-Status names the cache key."),
    Setting(
      "cache.sync_interval", \.cache.syncInterval, .time(.milliseconds(100)),
      "How often written data is synced to disk: what a power loss may cost."),
    Setting("cache.high_watermark", \.cache.highWatermark, .fraction, "Share of the size at which eviction begins."),
    Setting("cache.low_watermark", \.cache.lowWatermark, .fraction, "Share of the size at which eviction ends."),
    Setting(
      "cache.disk_threads", \.cache.diskThreads, .count(1, through: 256), "Threads for work that waits for the disk."),
  ]

  private static let fills: [Setting] = [
    Setting(
      "fills.read_ahead", \.fills.readAhead, .size(256 << 10), "How far a fill runs ahead of its furthest reader."),
    Setting(
      "fills.coalesce_gaps", \.fills.coalesceGaps, .size(through: 1 << 30),
      "A stored span shorter than this between two gaps is fetched again rather than asked around."),
    Setting(
      "fills.finish_if_missing", \.fills.finishIfMissing, .size(),
      "A fill that nobody reads any more goes on if at most this much is missing."),
    Setting(
      "fills.finish_if_done", \.fills.finishIfDone, .fraction,
      "A fill that nobody reads any more goes on if at least this share is stored."),
    Setting("fills.window", \.fills.window, .size(64 << 10), "First range asked for when filling a known object."),
    Setting("fills.window_max", \.fills.windowMax, .size(64 << 10), "What such ranges grow to by doubling."),
    Setting(
      "fills.range_skip", \.fills.rangeSkip, .size(),
      "How far a 200 in answer to a range is read through to reach it; beyond that the client gets the 200."),
    Setting(
      "fills.connections_per_object", \.fills.connectionsPerObject, .count(1, through: 256),
      "Most connections that bring one object side by side where each is slow; 1 is never more than one."),
    Setting(
      "fills.attempts", \.fills.attempts, .count(1, through: 1000), "Attempts without progress before a fill fails."),
    Setting(
      "fills.backoff", \.fills.backoff, .time(.milliseconds(1)), "Pause after the first failed attempt; it doubles."),
    Setting("fills.backoff_max", \.fills.backoffMax, .time(.milliseconds(1)), "Longest pause between attempts."),
    Setting(
      "fills.collapse_timeout", \.fills.collapseTimeout, .time(),
      "How long a request waits for the response head of another for the same URL."),
    Setting(
      "fills.follow_patience", \.fills.followPatience, .time(),
      "How long a response follows another's fill that is still far away, before it asks for its own part."),
    Setting(
      "fills.pass_memory", \.fills.passMemory, .time(),
      "How long it is remembered that responses of a URL cannot be shared."),
    Setting(
      "fills.restarts", \.fills.restarts, .count(through: 100),
      "How often a response begins again because the object changed, before it is passed through."),
  ]

  private static let upstream: [Setting] = [
    Setting(
      "upstream.connect_timeout", \.upstream.connectTimeout, .time(.milliseconds(1)), "Longest wait for a connection."),
    Setting(
      "upstream.head_timeout", \.upstream.headTimeout, .time(.milliseconds(1)), "Longest wait for a response head."),
    Setting(
      "upstream.stall_timeout", \.upstream.stallTimeout, .time(.milliseconds(1)), "Longest that a body may stand still."
    ),
    Setting(
      "upstream.minimum_rate", \.upstream.minimumRate, .size(),
      "Bytes a second that a body whose rest can be asked for again brings at least; 0 is no minimum."),
    Setting(
      "upstream.minimum_rate_period", \.upstream.minimumRatePeriod, .time(.milliseconds(1)),
      "How long a body may be slower than that before its rest is asked for on another connection."),
    Setting("upstream.idle_timeout", \.upstream.idleTimeout, .time(), "How long an unused connection is kept."),
    Setting(
      "upstream.connections_per_host", \.upstream.connectionsPerHost, .count(1, through: 65_535),
      "Connections to one host, for each worker."),
    Setting(
      "upstream.idle_per_host", \.upstream.idlePerHost, .count(through: 65_535),
      "Unused connections kept to one host, for each worker."),
  ]

  private static let clients: [Setting] = [
    Setting(
      "clients.head_timeout", \.clients.headTimeout, .time(.milliseconds(1)), "Longest that a request head may take."),
    Setting(
      "clients.body_timeout", \.clients.bodyTimeout, .time(.milliseconds(1)),
      "Longest that a request body may stand still."),
    Setting(
      "clients.idle_timeout", \.clients.idleTimeout, .time(.milliseconds(1)), "Longest pause between two requests."),
    Setting(
      "clients.send_timeout", \.clients.sendTimeout, .time(.milliseconds(1)), "Longest that a client may take nothing."),
    Setting(
      "clients.half_closed_timeout", \.clients.halfClosedTimeout, .time(),
      "How long a request still waits for upstream once its client has ended its direction."),
    Setting(
      "clients.minimum_rate", \.clients.minimumRate, .size(through: 1 << 30),
      "Bytes a second that a client sends or takes at least, on average over body_timeout or send_timeout."),
    Setting(
      "clients.connections", \.clients.connections, .count(1, through: 10_000_000), "Client connections at one time."),
    Setting(
      "clients.connections_per_address", \.clients.connectionsPerAddress, .count(1, through: 10_000_000),
      "Client connections of one address; beyond it those that wait longest for a request are closed."),
    Setting(
      "clients.requests_per_connection", \.clients.requestsPerConnection, .count(),
      "Requests served on one connection; 0 is no limit."),
    Setting(
      "clients.drain_timeout", \.clients.drainTimeout, .time(),
      "How long running responses may take to end after SIGTERM."),
  ]

  private static let limits: [Setting] = [
    Setting("limits.head_bytes", \.limits.headBytes, .size(1 << 10, through: 16 << 20), "Bytes of a head."),
    Setting("limits.line_bytes", \.limits.lineBytes, .size(512, through: 16 << 20), "Bytes of one line of a head."),
    Setting("limits.field_count", \.limits.fieldCount, .count(10, through: 100_000), "Field lines of a head."),
    Setting("limits.target_bytes", \.limits.targetBytes, .size(256, through: 1 << 20), "Bytes of a request target."),
    Setting(
      "limits.chunk_line_bytes", \.limits.chunkLineBytes, .size(32, through: 1 << 20),
      "Bytes of a chunk's first line, extensions included."),
    Setting("limits.trailer_bytes", \.limits.trailerBytes, .size(2, through: 1 << 20), "Bytes of a trailer section."),
    Setting(
      "limits.trailer_count", \.limits.trailerCount, .count(through: 100_000), "Field lines of a trailer section."),
    Setting("limits.ranges", \.limits.ranges, .count(1, through: 10_000), "Ranges of one request."),
    Setting(
      "limits.interim_responses", \.limits.interimResponses, .count(1, through: 1000),
      "Interim responses (1xx) to one request."),
    Setting("limits.variants", \.limits.variants, .count(1, through: 10_000), "Stored responses under one URL (Vary)."),
  ]

  private static let rest: [Setting] = [
    Setting(
      "tunnels.idle_timeout", \.tunnels.idleTimeout, .time(.milliseconds(1)), "Longest that a tunnel may stand still."),
    Setting("tunnels.connect_ports", \.tunnels.connectPorts, listOf: .count(1), "Ports that CONNECT may reach."),
    Setting(
      "access.client_networks", \.access.clientNetworks, listOf: .block, "Networks that clients may connect from."),
    Setting(
      "access.allow_loopback", \.access.allowLoopback, .choice,
      "Destinations on loopback; auto allows them while all listeners are on loopback."),
    Setting(
      "access.allow_link_local", \.access.allowLinkLocal, .choice,
      "Destinations on link-local addresses; auto as above."),
    Setting(
      "access.allow_own", \.access.allowOwn, .choice, "Destinations on this machine's own addresses; auto as above."),
    Setting("access.denied_networks", \.access.deniedNetworks, listOf: .block, "Destinations that are always refused."),
    Setting(
      "freshness.heuristic_fraction", \.freshness.heuristicFraction, .fraction,
      "Share of the time since Last-Modified that counts as fresh when nothing else is said."),
    Setting("freshness.heuristic_max", \.freshness.heuristicMax, .time(), "Longest such time."),
    Setting(
      "freshness.store_close_delimited", \.freshness.storeCloseDelimited, .flag,
      "Whether a body whose end only the connection's close marks is stored."),
    Setting(
      "freshness.store_set_cookie", \.freshness.storeSetCookie, .flag, "Whether a response with Set-Cookie is stored."),
    Setting(
      "freshness.stale_if_error", \.freshness.staleIfError, .time(),
      "How long a stale response may stand in for a failing origin where nothing is said; 0s is never."),
    Setting(
      "freshness.targeted_fields", \.freshness.targetedFields, listOf: .fieldName,
      "Fields that stand in for Cache-Control where a response has them, such as CDN-Cache-Control."),
    Setting(
      "integrity.content_md5", \.integrity.contentMD5, .flag,
      "Whether a completed object is compared with the Content-MD5 of a 200."),
    Setting(
      "integrity.object_store_checksums", \.integrity.objectStoreChecksums, .flag,
      "Whether it is compared with the checksums that S3, OSS and Cloud Storage state of the whole object."),
    Setting(
      "coding.gzip", \.coding.gzip, .flag,
      "Whether text that is stored whole and without a coding is gzip-coded for clients that accept it."),
    Setting("coding.gzip_minimum", \.coding.gzipMinimum, .size(), "Least size of such a text."),
    Setting("log.level", \.log.level, .choice, "Least that is logged: debug, info, warning or error."),
    Setting("log.destination", \.log.destination, .logDestination, "Where the log goes: stderr or a path."),
    Setting(
      "log.access_log", \.log.accessLog, .accessLogDestination,
      "One line a request: off, - for standard output, or a path."),
    Setting("log.access_format", \.log.accessFormat, .choice, "Form of those lines: larder, common or json."),
  ]
}
