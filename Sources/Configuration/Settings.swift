// Configuration: the settings of one Larder, typed, with a default each, and their reading from YAML.

/// Every setting of one Larder.
///
/// `Settings()` holds the defaults. `SettingsTable` names each of them once for the parser, the command line and the
/// documentation; a property that is not in that table cannot be set.
public struct Settings: Sendable, Equatable {
  /// Where clients connect. Never empty after `validate()`.
  public var listen: [ListenAddress] = [ListenAddress(loopbackPort: 3128)]
  /// Where the administrator connects; nil is off.
  public var admin: ListenAddress? = ListenAddress(loopbackPort: 3129)
  /// Worker threads; 0 stands for one a core until `resolved()`.
  public var workers = 0
  /// What `Via` and `Cache-Status` call this instance, a token; empty until `resolved()` makes up a unique one.
  public var name = ""
  /// Whether origins are out of reach by decision: what is stored is served whatever its age, the rest not at all.
  public var offline = false
  public var cache = Cache()
  public var fills = Fills()
  public var upstream = Upstream()
  public var clients = Clients()
  public var limits = Limits()
  public var tunnels = Tunnels()
  public var access = Access()
  public var freshness = Freshness()
  public var coding = Coding()
  public var integrity = Integrity()
  public var log = Log()

  /// The defaults.
  public init() {}

  /// The store on disk and its memory tier.
  public struct Cache: Sendable, Equatable {
    /// The cache's directory; empty until `resolved()` puts the user's default here.
    public var directory = ""
    /// The most that the cache may occupy on disk, in allocated bytes.
    public var size: UInt64 = 20 << 30
    /// The most that bodies in memory may occupy, in bytes.
    public var memory = 256 << 20
    /// Bodies up to this many bytes go to the memory tier and to pack files; larger ones get a file each.
    public var smallBody = 64 << 10
    /// Whether Cache-Status names the cache key (RFC 9211 §2.7).
    public var statusKey = false
    /// The longest that written data waits for a sync to disk: what a power loss may cost.
    public var syncInterval = Duration.seconds(5)
    /// The share of `size` at which eviction begins.
    public var highWatermark = 0.98
    /// The share of `size` at which eviction ends.
    public var lowWatermark = 0.95
    /// Threads for what may block on the disk.
    public var diskThreads = 4
  }

  /// How bodies are brought from upstream into the store.
  public struct Fills: Sendable, Equatable {
    /// How far a fill runs ahead of its furthest reader, in bytes.
    public var readAhead: UInt64 = 64 << 20
    /// A present span shorter than this many bytes between two gaps is fetched again rather than asked around.
    public var coalesceGaps: UInt64 = 4 << 10
    /// A fill without readers goes on when at most this many bytes are missing.
    public var finishIfMissing: UInt64 = 16 << 20
    /// A fill without readers goes on when at least this share of the representation is present.
    public var finishIfDone = 0.80
    /// The first window that a fill of a validated representation asks for, in bytes.
    public var window: UInt64 = 8 << 20
    /// What windows grow to by doubling, in bytes.
    public var windowMax: UInt64 = 64 << 20
    /// How far a 200 in answer to a range is read through to reach that range, in bytes.
    public var rangeSkip: UInt64 = 8 << 20
    /// The most connections that bring one object side by side, where upstream is slow for each; 1 is no more than one.
    public var connectionsPerObject = 4
    /// Attempts without progress before a fill fails.
    public var attempts = 5
    /// The pause after the first failed attempt; it doubles with each further one.
    public var backoff = Duration.milliseconds(500)
    /// The longest such pause.
    public var backoffMax = Duration.seconds(30)
    /// How long a request waits for the response head of another that asks for the same.
    public var collapseTimeout = Duration.seconds(10)
    /// How long a response follows another's fill that is still far from its position, before it asks for itself.
    public var followPatience = Duration.seconds(2)
    /// How long it is remembered that a cache key's responses cannot be shared.
    public var passMemory = Duration.seconds(60)
    /// How often one response begins again because its representation changed, before it becomes a pass.
    public var restarts = 2
  }

  /// Connections to origins.
  public struct Upstream: Sendable, Equatable {
    public var connectTimeout = Duration.seconds(10)
    /// From the last byte of a request to the end of the response head.
    public var headTimeout = Duration.seconds(60)
    /// The longest that a body may stand still.
    public var stallTimeout = Duration.seconds(60)
    /// The bytes per second that a body must bring over each `minimumRatePeriod`, where the rest of it can be asked for
    /// again; 0 is no floor.
    public var minimumRate: UInt64 = 1 << 10
    public var minimumRatePeriod = Duration.seconds(60)
    /// How long an unused connection is kept.
    public var idleTimeout = Duration.seconds(60)
    /// Connections to one host, for each worker.
    public var connectionsPerHost = 64
    /// Unused connections kept to one host, for each worker.
    public var idlePerHost = 16
  }

  /// Connections from clients.
  public struct Clients: Sendable, Equatable {
    /// From the first byte of a request to the end of its head.
    public var headTimeout = Duration.seconds(30)
    /// The longest that a request body may stand still.
    public var bodyTimeout = Duration.seconds(60)
    /// The longest pause between two requests on a connection.
    public var idleTimeout = Duration.seconds(75)
    /// The longest that a client may take nothing while there is something to send.
    public var sendTimeout = Duration.seconds(60)
    /// How long a request may still wait for upstream once its client has ended its direction.
    public var halfClosedTimeout = Duration.seconds(5)
    /// The bytes a second that a client must at least send of a body, or take of a response, on average over
    /// `bodyTimeout` or `sendTimeout`; 0 asks for a byte in that time.
    public var minimumRate = 100
    /// Client connections of all workers together.
    public var connections = 10_000
    /// Client connections of one address.
    public var connectionsPerAddress = 1024
    /// Requests served on one connection; 0 is no limit.
    public var requestsPerConnection = 100_000
    /// How long responses under way may take to end after SIGTERM.
    public var drainTimeout = Duration.seconds(30)
  }

  /// What is accepted of a message.
  public struct Limits: Sendable, Equatable {
    /// The bytes of a request or response head.
    public var headBytes = 64 << 10
    /// The bytes of one line of a head.
    public var lineBytes = 32 << 10
    /// The field lines of a head.
    public var fieldCount = 200
    /// The bytes of a request target.
    public var targetBytes = 16 << 10
    /// The bytes of a chunk's first line, its extensions included.
    public var chunkLineBytes = 4 << 10
    /// The bytes of a trailer section.
    public var trailerBytes = 16 << 10
    /// The field lines of a trailer section.
    public var trailerCount = 64
    /// The ranges of one request.
    public var ranges = 64
    /// The interim (1xx) responses to one request.
    public var interimResponses = 16
    /// The stored responses under one cache key.
    public var variants = 64
  }

  /// CONNECT and Upgrade.
  public struct Tunnels: Sendable, Equatable {
    /// The longest that no byte may move in either direction.
    public var idleTimeout = Duration.seconds(600)
    /// The ports that CONNECT may reach.
    public var connectPorts: [UInt16] = [443]
  }

  /// Who may use the proxy, and for which destinations.
  public struct Access: Sendable, Equatable {
    /// The networks that clients may connect from.
    public var clientNetworks: [AddressBlock] = AddressBlock.loopbackAndPrivate
    public var allowLoopback = Permission.auto
    public var allowLinkLocal = Permission.auto
    /// Destinations on the addresses of this machine itself.
    public var allowOwn = Permission.auto
    /// Destinations that are refused whatever else is allowed.
    public var deniedNetworks: [AddressBlock] = []
  }

  /// Whether a kind of destination is allowed.
  public enum Permission: String, CaseIterable, Sendable {
    /// Allowed as long as every listener is on loopback: then whoever asks could go there without the proxy.
    case auto
    case yes
    case no
  }

  /// How long responses may be reused, where the origin leaves it open.
  public struct Freshness: Sendable, Equatable {
    /// The share of the time since Last-Modified that a response without explicit freshness stays fresh.
    public var heuristicFraction = 0.10
    /// The longest that such a response stays fresh.
    public var heuristicMax = Duration.seconds(86_400)
    /// Whether a body whose end is marked only by the connection's close is stored.
    public var storeCloseDelimited = false
    /// Whether a response with Set-Cookie is stored.
    public var storeSetCookie = true
    /// How long a stale response may stand in for a failing origin where nothing is said; zero is never.
    public var staleIfError = Duration.zero
    /// Fields that stand in for Cache-Control (RFC 9213), most applicable first; tokens.
    public var targetedFields: [String] = []
  }

  /// What a completed object is compared with, beside `Repr-Digest`, `Content-Digest` and `Digest`.
  public struct Integrity: Sendable, Equatable {
    /// Whether `Content-MD5` of a 200 counts.
    public var contentMD5 = false
    /// Whether the full checksums that object stores state count.
    public var objectStoreChecksums = false
  }

  /// Content codings that are put on by the proxy itself.
  public struct Coding: Sendable, Equatable {
    /// Whether stored text without a coding is gzip-coded for clients that accept it.
    public var gzip = false
    /// The least length of such a text, in bytes.
    public var gzipMinimum: UInt64 = 1 << 10
  }

  /// Logs.
  public struct Log: Sendable, Equatable {
    public var level = LogLevel.info
    public var destination = LogDestination.stderr
    public var accessLog = AccessLogDestination.off
    public var accessFormat = AccessLogFormat.larder
  }

  /// The least that is written to the log.
  public enum LogLevel: String, CaseIterable, Sendable {
    case debug, info, warning, error
  }

  /// Where the log goes.
  public enum LogDestination: Sendable, Equatable {
    case stderr
    case file(String)
  }

  /// Where the access log goes.
  public enum AccessLogDestination: Sendable, Equatable {
    case off
    case stdout
    case file(String)
  }

  /// The form of an access log line.
  public enum AccessLogFormat: String, CaseIterable, Sendable {
    /// All that Larder knows, in columns.
    case larder
    /// The common log format, for tools that read it.
    case common
    /// One JSON object a line.
    case json
  }

  /// Whether every client listener is on loopback.
  public var listensOnLoopbackOnly: Bool {
    listen.allSatisfy(\.isLoopback)
  }

  /// What a permission means under these listeners.
  public func allows(_ permission: Permission) -> Bool {
    switch permission {
    case .auto: listensOnLoopbackOnly
    case .yes: true
    case .no: false
    }
  }
}
