// One run of one kind of work, and what the runs of it say together.
import TestSupport

/// What one run cost and brought.
struct Sample {
  /// In the row's unit; less is better.
  let cost: Double
  /// In the row's rate unit; more is better.
  let rate: Double
  /// Processor time of the clients, in microseconds a request, or milliseconds a gigabyte where a row counts bytes.
  let clients: Double
  /// In milliseconds; nil where there is no distribution.
  var p99: Double?
  /// What the origin sent by what was needed; nil where it was not counted.
  var upstream: Double?
}

/// A kind of work.
struct Row {
  let name: String
  let unit: String
  let rateUnit: String
  /// Larder's cost is to be at most this much of a peer's.
  var goal: (factor: Double, peer: Contestant)?
  /// Which servers can do it.
  let contestants: [Contestant]
  /// One run; the label is another one each time.
  let run: (Server, _ label: String) throws -> Sample
}

/// What all runs of a row gave.
struct RowOutcome {
  let row: Row
  private(set) var samples: [Contestant: [Sample]] = [:]

  init(_ row: Row) { self.row = row }

  mutating func add(_ sample: Sample, of contestant: Contestant) { samples[contestant, default: []].append(sample) }

  func cost(_ contestant: Contestant) -> Spread? { Spread((samples[contestant] ?? []).map(\.cost)) }
  func rate(_ contestant: Contestant) -> Spread? { Spread((samples[contestant] ?? []).map(\.rate)) }
  func p99(_ contestant: Contestant) -> Spread? { Spread((samples[contestant] ?? []).compactMap(\.p99)) }
  func clients(_ contestant: Contestant) -> Spread? { Spread((samples[contestant] ?? []).map(\.clients)) }
  /// The worst of all runs.
  func upstream(_ contestant: Contestant) -> Double? { (samples[contestant] ?? []).compactMap(\.upstream).max() }

  private var peers: [Contestant] {
    Contestant.allCases.filter { $0.isProxy && $0 != .larder && $0 != .loggingLarder }
  }

  /// The medians of all proxies but Larder.
  func peers(_ figure: (Contestant) -> Spread?) -> [Double] { peers.compactMap { figure($0)?.median } }

  /// The proxy that does it at least cost, Larder apart.
  var bestPeer: (contestant: Contestant, cost: Double)? {
    peers.compactMap { peer in cost(peer).map { (contestant: peer, cost: $0.median) } }.min { $0.cost < $1.cost }
  }

  var measurements: [Results.Measurement] {
    Contestant.allCases.compactMap { contestant in
      guard let cost = cost(contestant), let rate = rate(contestant) else { return nil }
      return Results.Measurement(
        work: row.name, server: contestant.rawValue, unit: row.unit, cost: cost,
        costByLarders: self.cost(.larder).map { cost.median / $0.median }, rateUnit: row.rateUnit, rate: rate,
        clients: clients(contestant), p99: p99(contestant), upstream: upstream(contestant))
    }
  }
}
