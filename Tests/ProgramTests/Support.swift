// What several of the tests share: how clients are pointed at the proxy, and how multipart bodies are read.
import Foundation
import TestSupport
import Testing

/// The environment in which a client uses the proxy.
func through(_ larder: LarderProcess, home: String) -> [String: String] {
  ["http_proxy": "http://127.0.0.1:\(larder.port)", "HOME": home, "no_proxy": ""]
}

/// Shrinks what a test moves: 1 is the size the specification speaks of, and the default a sixteenth of it.
let scale = environment("LARDER_TEST_SCALE").flatMap(Double.init) ?? 1.0 / 16

/// How often the crash test kills.
let killCount = environment("LARDER_TEST_KILLS").flatMap(Int.init) ?? 8

/// One part of a multipart/byteranges body.
struct Part: Equatable {
  let contentType: String?
  let contentRange: String
  let body: [UInt8]
}

/// Reads a multipart/byteranges body (RFC 9110 §14.6) and checks its frame.
func parts(of response: RawResponse) throws -> [Part] {
  let type = try #require(response.field("Content-Type"))
  try #require(type.lowercased().hasPrefix("multipart/byteranges"))
  var boundary = String(try #require(type.range(of: "boundary=").map { type[$0.upperBound...] }))
  boundary = boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
  let body = Data(response.body)
  let delimiter = Data("\r\n--\(boundary)".utf8)
  // The first delimiter may stand at the very beginning, without its CRLF.
  let whole = Data("\r\n".utf8) + body
  var found: [Part] = []
  var position = try #require(whole.range(of: delimiter)).upperBound
  while !whole[position...].starts(with: Data("--".utf8)) {
    let end = try #require(whole.range(of: delimiter, in: position..<whole.endIndex))
    let part = whole[position..<end.lowerBound]
    let headEnd = try #require(part.range(of: Data("\r\n\r\n".utf8)))
    let fields = String(decoding: part[..<headEnd.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let value = { (name: String) in
      fields.first { $0.lowercased().hasPrefix(name + ":") }
        .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }
    found.append(
      Part(
        contentType: value("content-type"), contentRange: try #require(value("content-range")),
        body: Array(part[headEnd.upperBound...])))
    position = end.upperBound
  }
  return found
}

/// The members of the `Cache-Status` of the last cache that handled a response, parameters split.
func cacheStatus(_ response: RawResponse) -> [String] {
  guard let last = response.field("Cache-Status").map({ $0.split(separator: ",").last ?? "" }) else { return [] }
  return last.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
}

/// Whether a response came from the store without asking upstream.
func isHit(_ response: RawResponse) -> Bool { cacheStatus(response).contains("hit") }

/// An HTTP date so many seconds from now.
func httpDate(secondsFromNow seconds: Double) -> String {
  let format = DateFormatter()
  format.locale = Locale(identifier: "en_US_POSIX")
  format.timeZone = TimeZone(identifier: "GMT")
  format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
  return format.string(from: Date(timeIntervalSinceNow: seconds))
}

/// Expects that a body is right, and says where it is not, without printing it.
func expectBytes(
  _ found: some Sequence<UInt8>, _ expected: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
) {
  let found = Array(found)
  if found == expected { return }
  let common = zip(found, expected).prefix { $0 == $1 }.count
  Issue.record(
    "\(found.count) bytes instead of \(expected.count), alike as far as byte \(common)", sourceLocation: sourceLocation)
}

/// Stops the proxies, and expects that nginx has sent exactly so many body bytes.
func expectSent(
  _ count: Int, by nginx: NginxOrigin, _ rig: Rig, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let log = try rig.settledLog(of: nginx)
  if log.bodyBytes == count { return }
  Issue.record(
    "nginx sent \(log.bodyBytes) body bytes instead of \(count):\n\(log.map(\.description).joined(separator: "\n"))",
    sourceLocation: sourceLocation)
}

/// A small tmpfs, for as long as the body runs. Mounting needs root; without it the test is cancelled, loudly.
func withDisk(_ rig: Rig, megabytes: Int, files: Int? = nil, _ body: (String) throws -> Void) throws {
  let path = rig.folder.file("disk")
  try makeFolder(path)
  let options = "size=\(megabytes)m" + (files.map { ",nr_inodes=\($0)" } ?? "")
  let mount = try runTool("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path])
  guard mount.end == .exited(0) else { try Test.cancel("cannot mount a tmpfs here: \(mount.errorText)") }
  defer { _ = try? runTool("umount", ["-l", path]) }
  try body(path)
}

/// What was sent before has been read by the only worker when it has answered these.
func letWorkerRead(_ larder: LarderProcess) throws {
  for _ in 0..<20 {
    let client = try RawClient(port: larder.port)
    try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    _ = try client.response()
  }
}
