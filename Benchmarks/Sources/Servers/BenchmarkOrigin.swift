// The origin of all rows: nginx on the load's core, with objects whose every byte is known.
import Glibc
import TestSupport

/// An nginx that serves three objects, under as many names as are asked for.
final class BenchmarkOrigin {
  /// What is served.
  enum Object: String, CaseIterable {
    case small = "1k"
    case middle = "1m"
    case large = "large"
  }

  private let nginx: NginxOrigin
  private let bodies: [Object: PatternBody]
  private var statusRequests = 0

  var port: UInt16 { nginx.port }
  var root: String { nginx.root }

  /// - Parameter largeSize: of the large object, in bytes.
  init(_ rig: Rig, largeSize: Int) throws {
    let sizes: [Object: Int] = [.small: 1 << 10, .middle: 1 << 20, .large: largeSize]
    bodies = sizes.mapValues { PatternBody(seed: UInt64($0), size: $0) }
    // Only the large object's transfers are logged: their bytes are added up. Short ones are counted by the status.
    nginx = try rig.nginx(
      serverLines: """
        add_header Cache-Control max-age=86400;
        keepalive_requests 1000000000;
        open_file_cache max=100 inactive=1h;
        location / { access_log off; }
        location = /status { stub_status; access_log off; }
        location /miss/ { try_files /1k =404; access_log off; }
        location /cold/ { }
        """)
    for (object, body) in bodies { try nginx.publish("/\(object.rawValue)", body) }
  }

  func url(_ object: Object) -> String { nginx.url("/\(object.rawValue)") }

  /// Gives the large object another name, that nobody has asked for.
  func coldURL(_ name: String) throws -> String {
    try makeFolder("\(root)/cold")
    guard link("\(root)/\(Object.large.rawValue)", "\(root)/cold/\(name)") == 0 else {
      throw HarnessError("cannot name the large object \(name)")
    }
    return nginx.url("/cold/\(name)")
  }

  /// What names of the small object begin with.
  var missPrefix: String { nginx.url("/miss/") }

  func body(_ object: Object) -> PatternBody {
    // Made for every object in `init`.
    bodies[object] ?? PatternBody(seed: 0, size: 0)
  }

  /// Requests answered so far, but for those that this function makes.
  func requests() throws -> Int {
    statusRequests += 1
    let status = try RawClient.fetch(nginx.url("/status"), through: nginx.port).text
    guard let line = status.split(separator: "\n").dropFirst(2).first,
      let count = line.split(separator: " ").last.flatMap({ Int($0) })
    else { throw HarnessError("the origin's status is strange: \(status)") }
    return count - statusRequests
  }

  /// Body bytes sent for a cold name, once there are as many as the object has, or a second has passed.
  func bytesSent(coldName: String) throws -> Int {
    let limit = monotonicSeconds() + 1
    while true {
      let sent = try nginx.log().filter { $0.path == "/cold/\(coldName)" }.bodyBytes
      if sent >= body(.large).size || monotonicSeconds() > limit { return sent }
      usleep(20_000)
    }
  }
}
