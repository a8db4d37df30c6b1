// wrk, on the core that the server does not have.
import TestSupport

/// Requests for one URL through a proxy, as fast as it answers.
struct Load {
  /// What is asked for.
  enum Form {
    case whole
    /// A random range of so many bytes of an object of `size`.
    case ranges(length: Int, size: Int)
  }

  let url: String
  let form: Form
  private static let connections = 16

  /// Runs for so long, and says how many requests were answered rightly; throws when one was not.
  func run(port: UInt16, seconds: Int, in folder: TemporaryFolder) throws -> Int {
    let script = folder.file("load.lua")
    try writeFile(script, lua)
    let result = try mustRun(
      "wrk",
      [
        "-t1", "-c\(Self.connections)", "-d\(seconds)s", "-s", script,
        "http://127.0.0.1:\(port)/",
      ])
    let lines = result.outputText.split(separator: "\n")
    guard !lines.contains(where: { $0.contains("Non-2xx") || $0.contains("Socket errors") }),
      let line = lines.first(where: { $0.contains(" requests in ") }), let count = Int(line.split(separator: " ")[0])
    else { throw HarnessError("wrk saw wrong answers: \(result)") }
    return count
  }

  /// Proxies want the whole URL in the request line.
  private var lua: String {
    let host = url.split(separator: "/")[1]
    switch form {
    case .whole:
      return """
        local text
        init = function() text = wrk.format("GET", "\(url)", {["Host"] = "\(host)"}) end
        request = function() return text end
        """
    case .ranges(let length, let size):
      return """
        init = function() math.randomseed(7) end
        request = function()
          local first = math.random(0, \(size - length))
          return wrk.format("GET", "\(url)", {["Host"] = "\(host)",
            ["Range"] = "bytes=" .. first .. "-" .. (first + \(length - 1))})
        end
        """
    }
  }
}

/// Which core does what.
enum Cores {
  static let server = 0
  static let load = 1
}
