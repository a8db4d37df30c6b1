// `larder verify`: compares everything in the cache with its checksum, and takes out what is bad if told to.

import Configuration
import Glibc
import Store
import Threads

enum VerifyCommand {
  static func run(_ arguments: [String]) -> ExitCode {
    switch CommandOptions.parse(arguments.filter { $0 != "--repair" }, flags: ["--cache-dir": "cache.directory"]) {
    case .help:
      Output.print(Help.verify)
      return .success
    case .wrong(let reason):
      Output.error(reason)
      return .usage
    case .settings(let settings):
      return verify(settings.cache.directory, repairs: arguments.contains("--repair"))
    }
  }

  private static func verify(_ directory: String, repairs: Bool) -> ExitCode {
    let meter = isatty(STDERR_FILENO) == 1 ? Meter() : nil
    let verdict: StoreVerdict
    do {
      verdict = try StoreVerifier.run(
        directory: directory, repairs: repairs,
        report: { finding in
          meter?.clear()
          Output.print(finding.explanation)
        }, progress: { meter?.show($0) })
    } catch {
      meter?.clear()
      Output.error(error.explanation)
      return .failure
    }
    meter?.clear()
    Output.print(
      "checked \(verdict.objects) objects, \(verdict.extents) extents, \(verdict.bytes) bytes: "
        + "\(verdict.badExtents) bad extents, \(verdict.badRows) bad rows and \(verdict.badPages) bad pages "
        + "of the index, \(verdict.orphans) orphans")
    if verdict.isRepaired {
      if verdict.isBad {
        Output.print("repaired: what was bad is out of the cache, and is fetched when it is asked for")
      }
      return .success
    }
    if verdict.isBad {
      Output.print(
        verdict.badPages > 0
          ? "the index cannot be used as it is: `larder verify --repair` keeps what can be read of it"
          : "a running server drops what is bad when it meets it; `larder verify --repair` does so while none runs")
    }
    return verdict.isBad ? .failure : .success
  }

  /// Shows how far it has come, twice a second at most.
  private final class Meter {
    private var shownAt: UInt64 = 0

    func show(_ progress: VerificationProgress) {
      let moment = monotonicNanoseconds() / 500_000_000
      guard moment != shownAt else { return }
      shownAt = moment
      let (done, all) = (progress.bytes >> 20, max(progress.total, progress.bytes) >> 20)
      write("\r\u{1B}[K\(done) of \(all) MiB")
    }

    func clear() {
      if shownAt != 0 { write("\r\u{1B}[K") }
      shownAt = 0
    }

    private func write(_ text: String) {
      let bytes = Array(text.utf8)
      _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
}
