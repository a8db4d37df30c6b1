// Resident memory while a slow client takes a large object: it must not grow with the object.
import Glibc
import TestSupport

/// Sends objects of different sizes through a fresh proxy to a client that takes them slowly.
enum MemoryBenchmark {
  /// Growth beyond this fails, in bytes.
  private static let limit = 64 << 20
  private static let sizes = [64 << 20, 256 << 20, 1 << 30]
  /// What the client takes in a second.
  private static let rate = 48 << 20

  static func run(_ results: inout Results, _ verdict: inout Verdict) throws {
    var table = Table(
      "Resident memory, slow client (curl --limit-rate \(rate >> 20)M), fresh proxy, cold object",
      ["object", "before MiB", "peak MiB", "growth MiB"])
    var failures: [String] = []
    try withRig { rig in
      let nginx = try rig.nginx(serverLines: "access_log off; add_header Cache-Control max-age=86400;")
      try nginx.publish("/small", Array("small".utf8))
      for size in sizes {
        let path = "/\(size)"
        try nginx.publish(path, [])
        guard truncate(nginx.root + path, size) == 0 else { throw HarnessError("cannot make \(path)") }
        let larder = try rig.larder(["workers": "1", "log.level": "info", "log.access_log": "off"])
        // What is set up with the first request is not the object's.
        _ = try RawClient.fetch(nginx.url("/small"), through: larder.port)
        let before = try larder.residentBytes()
        let result = try mustRun(
          "curl",
          [
            "-s", "-S", "-o", "/dev/null", "-x", "http://127.0.0.1:\(larder.port)", "--limit-rate", "\(rate)",
            "-w", "%{http_code} %{size_download}", nginx.url(path),
          ], seconds: 300)
        try demandEqual(result.outputText, "200 \(size)", "status and size of \(path)")
        // The kernel keeps the peak: no sample can miss it.
        let peak = try larder.peakResidentBytes()
        larder.kill9()
        table.add([
          "\(size >> 20) MiB", text(Double(before) / 1_048_576), text(Double(peak) / 1_048_576),
          text(Double(peak - before) / 1_048_576),
        ])
        if peak - before > limit {
          failures.append("\(size >> 20) MiB through a slow client took \(peak - before) bytes")
        }
      }
    }
    results.add(table, as: "memory")
    for failure in failures { verdict.demand(false, failure) }
  }
}
