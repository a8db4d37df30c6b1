// The fuzzers' entry: `Fuzz NAME CORPUS… [arguments of libFuzzer]` runs one of them.

import Glibc

/// A fuzzer: it must not crash for any input, and says `fail` where an invariant does not hold.
enum Fuzzer: String, CaseIterable {
  case requestHead = "request-head"
  case responseHead = "response-head"
  case chunkedBody = "chunked-body"
  case ranges = "ranges"
  case structuredField = "structured-field"
  case date = "date"
  case settings = "settings"
  case indexRecord = "index-record"

  func run(_ input: [UInt8]) {
    switch self {
    case .requestHead: fuzzRequestHead(input)
    case .responseHead: fuzzResponseHead(input)
    case .chunkedBody: fuzzChunkedBody(input)
    case .ranges: fuzzRanges(input)
    case .structuredField: fuzzStructuredField(input)
    case .date: fuzzDate(input)
    case .settings: fuzzSettings(input)
    case .indexRecord: fuzzIndexRecord(input)
    }
  }
}

/// Ends the run; libFuzzer keeps the input.
func fail(_ what: String) -> Never { fatalError(what) }

/// Fails unless it is so.
func must(_ isSo: Bool, _ what: @autoclosure () -> String) {
  if !isSo { fail(what()) }
}

typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// libFuzzer's driver (FuzzerInterface.h).
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Chosen once, before the driver runs.
nonisolated(unsafe) private var chosen = Fuzzer.requestHead

/// What libFuzzer calls with each input; its library wants a function of this name.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  chosen.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

@main struct Main {
  static func main() {
    guard CommandLine.arguments.count > 1, let named = Fuzzer(rawValue: CommandLine.arguments[1]) else {
      print("usage: Fuzz NAME CORPUS…\n\(Fuzzer.allCases.map(\.rawValue).joined(separator: "\n"))")
      exit(2)
    }
    chosen = named
    // libFuzzer sees the arguments without the name.
    var count = CommandLine.argc - 1
    var arguments = CommandLine.unsafeArgv
    for index in 1..<Int(count) { arguments[index] = arguments[index + 1] }
    arguments[Int(count)] = nil
    exit(runDriver(&count, &arguments, { testOneInput($0, $1) }))
  }
}
