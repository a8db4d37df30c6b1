// Foundation's URLSession through the proxy: whole, part, upload.
//
// On Linux URLSession takes its proxy from the environment only, so it runs in a process of its own: this test bundle
// once more, with `http_proxy` set and `insideTheHelper` as its only test.
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct URLSessionTests {
  /// What the helper is to ask for, and where it leaves the answer.
  private static let order = environment("LARDER_URLSESSION")

  @Test(.enabled(if: order != nil, "runs in a helper process only"))
  func insideTheHelper() async throws {
    let lines = try #require(Self.order).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    try #require(lines.count == 5)
    var request = URLRequest(url: try #require(URL(string: lines[1])))
    request.httpMethod = lines[0]
    if !lines[2].isEmpty { request.setValue(lines[2], forHTTPHeaderField: "Range") }
    if !lines[3].isEmpty { request.httpBody = Data(try readFile(lines[3])) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    let (data, response) = try await URLSession(configuration: configuration).data(for: request)
    try writeFile(lines[4], Array(data))
    try writeFile(lines[4] + ".status", "\((response as? HTTPURLResponse)?.statusCode ?? 0)")
  }

  /// One request by a URLSession that finds the proxy in its environment.
  private func load(
    _ url: String, method: String = "GET", range: String = "", upload: [UInt8]? = nil, _ larder: LarderProcess,
    _ rig: Rig
  ) throws -> (status: String, body: [UInt8]) {
    let answer = rig.folder.file("answer")
    if let upload { try writeFile(rig.folder.file("upload"), upload) }
    var environment = through(larder, home: rig.folder.path)
    environment["LARDER_URLSESSION"] = [method, url, range, upload == nil ? "" : rig.folder.file("upload"), answer]
      .joined(separator: "\n")
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let bundle = String(decoding: buffer[..<max(0, length)].map(UInt8.init(bitPattern:)), as: UTF8.self)
    try mustRun(
      bundle, ["--testing-library", "swift-testing", "--filter", "URLSessionTests/insideTheHelper"],
      environment: environment)
    return (try readText(answer + ".status"), try readFile(answer))
  }

  @Test func wholeAndPartAreRightAndFetchedOnce() throws {
    try withRig { rig in
      let body = PatternBody(seed: 14, size: 3_000_000)
      let nginx = try rig.nginx()
      try nginx.publish("/file.bin", body)
      let larder = try rig.larder()
      let part = try load(nginx.url("/file.bin"), range: "bytes=1000000-1999999", larder, rig)
      #expect(part.status == "206")
      expectBytes(part.body, body.bytes(1_000_000..<2_000_000))
      for _ in 0..<2 {
        let whole = try load(nginx.url("/file.bin"), larder, rig)
        #expect(whole.status == "200")
        expectBytes(whole.body, body.bytes)
      }
      #expect(try larder.accessLog(count: 3).count == 3)
      try expectSent(body.size, by: nginx, rig)
    }
  }

  @Test func uploadArrives() throws {
    try withRig { rig in
      let body = PatternBody(seed: 15, size: 400_000)
      let origin = try rig.origin { exchange in
        let received = try exchange.readBody()
        try exchange.respond(body: "\(received.count)")
      }
      let larder = try rig.larder()
      let answer = try load(origin.url("/upload"), method: "POST", upload: body.bytes, larder, rig)
      #expect(answer.status == "200")
      #expect(String(decoding: answer.body, as: UTF8.self) == "400000")
      expectBytes(origin.requests.first?.body ?? [], body.bytes)
      #expect(origin.requests.first?.field("Via") != nil)
    }
  }
}
