// Real nginx as an origin, whose access log says what it was asked for and what it sent.

/// One line of the origin's access log.
public struct OriginLogEntry: Sendable, CustomStringConvertible {
  public let method: String
  public let path: String
  public let status: Int
  /// Body bytes given to the socket.
  public let bodyBytes: Int
  /// The request's `Range`, nil when there was none.
  public let range: String?
  /// The response's `Content-Range`.
  public let contentRange: String?
  /// The request's `If-Match`.
  public let ifMatch: String?

  public var description: String {
    "\(method) \(path) \(status) \(bodyBytes) \(range ?? "-") \(contentRange ?? "-") \(ifMatch ?? "-")"
  }
}

/// An nginx with its own folder, on 127.0.0.1, serving the files of its document root.
public final class NginxOrigin: Sendable {
  public let port: UInt16
  /// The document root.
  public let root: String
  private let folder: TemporaryFolder
  private let process: ChildProcess
  private let logPath: String

  /// `serverLines` go into the server block, after `root`.
  public init(serverLines: String = "") throws {
    let folder = try TemporaryFolder("larder-nginx")
    self.folder = folder
    root = folder.file("www")
    logPath = folder.file("access.log")
    try makeFolder(root)
    let listener = try ListeningSocket()
    port = listener.port
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: "\n  ")
    try writeFile(
      folder.file("nginx.conf"),
      """
      daemon off;
      worker_processes 1;
      pid \(folder.path)/nginx.pid;
      error_log \(folder.path)/error.log;
      events { worker_connections 512; }
      http {
        \(temporary)
        types { text/html html; text/plain txt; video/mp4 mp4; }
        default_type application/octet-stream;
        log_format origin '$request_method\t$uri\t$status\t$body_bytes_sent\t$http_range\t'
          '$sent_http_content_range\t$http_if_match\tend';
        access_log \(logPath) origin;
        sendfile on;
        keepalive_timeout 60s;
        keepalive_requests 100000;
        server {
          listen 127.0.0.1:\(port);
          root \(root);
          \(serverLines)
        }
      }

      """)
    // The socket is handed over as nginx hands it to its successor in an upgrade, so no one can take the port.
    process = try ChildProcess(
      "nginx", ["-p", folder.path, "-c", folder.file("nginx.conf"), "-e", folder.file("error.log")],
      environment: ["NGINX": "3;", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], inherited: listener.descriptor)
    let client = try RawClient(port: port)
    let answer = try client.fetch("http://127.0.0.1:\(port)/", method: "OPTIONS")
    client.close()
    guard answer.status > 0 else { throw HarnessError("nginx does not answer: \(process.errorText)") }
  }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Writes a file below the document root.
  public func publish(_ path: String, _ bytes: [UInt8]) throws {
    try makeParent(of: path)
    try writeFile(root + path, bytes)
  }

  public func publish(_ path: String, _ body: PatternBody) throws {
    try makeParent(of: path)
    try body.write(to: root + path)
  }

  private func makeParent(of path: String) throws {
    try makeFolder((root + path).split(separator: "/").dropLast().map { "/\($0)" }.joined())
  }

  /// Ends in order, once running exchanges are over; then the log is complete.
  public func quit() throws {
    process.signal(3)  // SIGQUIT
    _ = try process.wait()
  }

  /// The log's lines so far, but for those of `OPTIONS`.
  public func log() throws -> [OriginLogEntry] {
    Self.entries(exists(logPath) ? try readText(logPath) : "")
  }

  /// Waits until the log has that many lines.
  public func log(count: Int) throws -> [OriginLogEntry] {
    try waitForFile(logPath, for: "\(count) requests in nginx's log") { text in
      let entries = Self.entries(text)
      return entries.count >= count ? entries : nil
    }
  }

  private static func entries(_ text: String) -> [OriginLogEntry] {
    text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 8, parts[7] == "end", parts[0] != "OPTIONS" else { return nil }
      let optional = { (text: String) in text == "-" ? nil : text }
      return OriginLogEntry(
        method: parts[0], path: parts[1], status: Int(parts[2]) ?? 0, bodyBytes: Int(parts[3]) ?? 0,
        range: optional(parts[4]), contentRange: optional(parts[5]), ifMatch: optional(parts[6]))
    }
  }

  func stop() {
    process.kill9()
    folder.remove()
  }
}

extension Sequence where Element == OriginLogEntry {
  /// Body bytes of successful answers (200 and 206), all together.
  public var bodyBytes: Int {
    reduce(0) { $0 + ($1.status == 200 || $1.status == 206 ? $1.bodyBytes : 0) }
  }
}
