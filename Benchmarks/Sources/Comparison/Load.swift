// wrk, on the core that the server does not have, and beside it a client that looks at every byte.
import Glibc
import TestSupport

/// Requests through a server, as fast as it answers.
struct Load {
  /// What is asked for.
  enum Form {
    case whole
    /// A random range of so many bytes of an object of `size`.
    case ranges(length: Int, size: Int)
    /// A new name behind the URL for every request.
    case newNames
    /// Random names behind the URL, from 0 up to a number.
    case names(Int)
  }

  /// What a run gave.
  struct Outcome {
    let requests: Int
    let seconds: Double
    /// In milliseconds.
    let p99: Double
  }

  let url: String
  let form: Form
  /// What a right answer has, at least, in bytes.
  let length: Int
  var connections = Load.connections
  static let connections = 16

  /// Runs for so long; throws when an answer had a wrong status or length, or a connection broke.
  ///
  /// - Parameter label: of the run, part of new names.
  func run(port: UInt16, seconds: Int, label: String, in folder: TemporaryFolder) throws -> Outcome {
    let script = folder.file("load-\(label).lua")
    try writeFile(script, requestLua(label) + Self.doneLua)
    let result = try mustRun(
      "wrk",
      ["-t1", "-c\(connections)", "-d\(seconds)s", "--timeout", "30s", "-s", script, "http://127.0.0.1:\(port)/"],
      seconds: Double(seconds) + 90)
    guard let line = result.outputText.split(separator: "\n").first(where: { $0.hasPrefix("outcome ") }) else {
      throw HarnessError("wrk said nothing of its outcome: \(result)")
    }
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 6, numbers[0] > 0 else { throw HarnessError("wrk's outcome is strange: \(result)") }
    let (requests, bytes) = (numbers[0], numbers[3])
    guard numbers[4] == 0, numbers[5] == 0 else {
      throw HarnessError(
        "\(numbers[4]) answers of another status than 2xx, \(numbers[5]) broken connections: \(result)")
    }
    // All heads are counted, and those answers that were on their way at the end.
    guard bytes >= requests * length, bytes <= (requests + connections) * (length + 4096) else {
      throw HarnessError("\(requests) answers of \(length) bytes came as \(bytes) bytes")
    }
    return Outcome(requests: requests, seconds: Double(numbers[1]) / 1e6, p99: Double(numbers[2]) / 1000)
  }

  private static let doneLua = """

    done = function(summary, latency, requests)
      local e = summary.errors
      io.write(string.format("outcome %d %d %d %d %d %d\\n", summary.requests, summary.duration,
        latency:percentile(99), summary.bytes, e.status, e.connect + e.read + e.write + e.timeout))
    end

    """

  /// Proxies want the whole URL in the request line; the servers that are none take it as well.
  private func requestLua(_ label: String) -> String {
    let host = url.split(separator: "/")[1]
    let end = "\" HTTP/1.1\\r\\nHost: \(host)\\r\\n"
    switch form {
    case .whole:
      return """
        local text = "GET \(url)" .. \(end)\\r\\n"
        request = function() return text end
        """
    case .ranges(let length, let size):
      return """
        init = function() math.randomseed(7) end
        request = function()
          local first = math.random(0, \(size - length))
          return "GET \(url)" .. \(end)Range: bytes=" .. first .. "-" .. (first + \(length - 1)) .. "\\r\\n\\r\\n"
        end
        """
    case .newNames:
      return """
        local number = 0
        request = function()
          number = number + 1
          return "GET \(url)\(label)-" .. number .. \(end)\\r\\n"
        end
        """
    case .names(let count):
      return """
        init = function() math.randomseed(7) end
        request = function() return "GET \(url)" .. math.random(0, \(count - 1)) .. \(end)\\r\\n" end
        """
    }
  }
}

/// A client that asks now and then while the load runs, and compares status, length and bytes.
final class WatchfulClient {
  private let shared: Monitor<(isOver: Bool, requests: Int)>
  private let thread: Background

  /// What of which body is asked for.
  struct Question {
    let url: String
    let body: PatternBody
    /// Nil asks for the whole.
    var range: Range<Int>?
  }

  /// Asks what `next` says, given the number of the request, until `finish`.
  init(port: UInt16, next: @escaping @Sendable (Int) -> Question) {
    let shared = Monitor((isOver: false, requests: 0))
    self.shared = shared
    thread = Background("watchful client") {
      let client = try RawClient(port: port)
      defer { client.close() }
      while !shared.withLock({ $0.isOver }) {
        let number = shared.withLock { $0.requests }
        try Self.ask(next(number), client)
        shared.withLock { $0.requests += 1 }
        usleep(20_000)
      }
    }
  }

  /// Ends it; returns how many answers it found right, and throws what was wrong with the last one.
  func finish() throws -> Int {
    shared.withLock { $0.isOver = true }
    try thread.join()
    let count = shared.withLock { $0.requests }
    guard count > 0 else { throw HarnessError("nothing was compared while the load ran") }
    return count
  }

  private static func ask(_ question: Question, _ client: RawClient) throws {
    let range = question.range ?? 0..<question.body.size
    let fields = question.range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    let checker = BodyChecker(question.body, from: range.lowerBound)
    let response = try client.fetch(question.url, fields) { checker.take($0) }
    try demandEqual(response.status, question.range == nil ? 200 : 206, "status of \(question.url)")
    try demandEqual(checker.position, range.upperBound, "end of \(question.url)")
    try demandEqual(checker.mismatch, nil, "first wrong byte of \(question.url)")
  }
}
