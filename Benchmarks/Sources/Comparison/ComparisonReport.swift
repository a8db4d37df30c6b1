// The comparison as tables: costs with the goals, rates, latencies, bytes upstream.
import TestSupport

/// Makes tables and figures of what the rows gave.
struct ComparisonReport {
  let outcomes: [RowOutcome]
  let rounds: Int
  private static let columns: [Contestant] = [.larder, .nginx, .squid, .varnish, .trafficServer, .nginxStatic]

  func add(to results: inout Results, _ verdict: inout Verdict) {
    results.add(costs, as: "peers")
    results.add(goals, as: "goals")
    results.add(rates, as: "rates")
    results.add(latencies, as: "latencies")
    results.add(clients, as: "clients")
    results.add(upstream, as: "upstream")
    results.replaceMeasurements(outcomes.flatMap(\.measurements))
    // A present byte is never fetched again: that is no matter of speed.
    for outcome in outcomes {
      guard let factor = outcome.upstream(.larder) else { continue }
      verdict.demand(
        factor == 1, "\(outcome.row.name): Larder fetched \(text(factor, digits: 4)) times what was needed")
    }
  }

  private var header: [String] { ["work", "unit"] + Self.columns.map(\.rawValue) }

  /// The server that a column of a row is about: the row of the log is Larder's, with the log.
  private func shown(_ column: Contestant, _ outcome: RowOutcome) -> Contestant {
    column == .larder && outcome.row.contestants == [.loggingLarder] ? .loggingLarder : column
  }

  private var costs: Table {
    var table = Table(
      "Cost, medians of \(rounds) rounds in turn: processor time of each server, but seconds where the unit is s",
      header + ["Larder's spread"])
    for outcome in outcomes {
      let cells = Self.columns.map { column in
        outcome.cost(shown(column, outcome)).map { text($0.median, digits: digits($0.median)) } ?? "–"
      }
      let spread = outcome.cost(shown(.larder, outcome)).map {
        "\(text($0.least, digits: digits($0.least)))–\(text($0.most, digits: digits($0.most)))"
      }
      table.add([outcome.row.name, outcome.row.unit] + cells + [spread ?? "–"])
    }
    return table
  }

  private var goals: Table {
    var table = Table(
      "Goals: Larder's cost by a peer's at most so much; its rate and 99th percentile by the best proxy's",
      ["work", "peer", "goal", "reached", "met", "cost by the best's", "rate", "p99"])
    for outcome in outcomes {
      guard let goal = outcome.row.goal, let ours = outcome.cost(.larder), let theirs = outcome.cost(goal.peer) else {
        continue
      }
      let reached = ours.median / theirs.median
      let best = outcome.bestPeer.map { "\(text(ours.median / $0.cost, digits: 2)) (\($0.contestant.rawValue))" }
      table.add([
        outcome.row.name, goal.peer.rawValue, text(goal.factor, digits: 2), text(reached, digits: 2),
        reached <= goal.factor ? "yes" : "no", best ?? "–",
        quotient(outcome.rate(.larder), outcome.peers(outcome.rate).max()),
        quotient(outcome.p99(.larder), outcome.peers(outcome.p99).min()),
      ])
    }
    return table
  }

  private var rates: Table {
    var table = Table("Throughput, medians (one client at a time where it is cold)", header)
    for outcome in outcomes {
      table.add(
        [outcome.row.name, outcome.row.rateUnit]
          + Self.columns.map { column in
            outcome.rate(shown(column, outcome)).map { text($0.median, digits: 0) } ?? "–"
          })
    }
    return table
  }

  private var clients: Table {
    var table = Table("Processor time of the clients, which compare the bytes of cold objects, medians", header)
    for outcome in outcomes {
      table.add(
        [outcome.row.name, outcome.row.unit == "s" ? "ms/GB" : outcome.row.unit]
          + Self.columns.map { column in
            outcome.clients(shown(column, outcome)).map { text($0.median, digits: digits($0.median)) } ?? "–"
          })
    }
    return table
  }

  private var latencies: Table {
    var table = Table("99th percentile of the latency of \(Load.connections) connections, medians", header)
    for outcome in outcomes where outcome.samples.values.contains(where: { $0.contains { $0.p99 != nil } }) {
      table.add(
        [outcome.row.name, "ms"]
          + Self.columns.map { column in
            outcome.p99(shown(column, outcome)).map { text($0.median, digits: 2) } ?? "–"
          })
    }
    return table
  }

  private var upstream: Table {
    var table = Table("Sent by the origin, by what was needed (the most of all rounds)", header)
    for outcome in outcomes where outcome.samples.values.contains(where: { $0.contains { $0.upstream != nil } }) {
      table.add(
        [outcome.row.name, "times"]
          + Self.columns.map { outcome.upstream($0).map { text($0, digits: 3) } ?? "–" })
    }
    return table
  }

  private func quotient(_ ours: Spread?, _ best: Double?) -> String {
    guard let ours, let best, best > 0 else { return "–" }
    return text(ours.median / best, digits: 2)
  }

  private func digits(_ value: Double) -> Int { value < 10 ? 2 : value < 1000 ? 1 : 0 }
}
