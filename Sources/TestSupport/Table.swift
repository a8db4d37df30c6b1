// Many small cases over few servers: each has a name, all are run, and every failure is reported by it.

/// Runs every row of a table, several at a time, and returns what went wrong, each with the name of its row.
///
/// - Parameter lanes: how many rows run at one time.
public func runTable<Row: Sendable>(
  _ rows: [Row], lanes: Int = 6, name: @escaping @Sendable (Row) -> String,
  _ run: @escaping @Sendable (Row) throws -> Void
) throws -> [String] {
  let failures = Monitor<[String]>([])
  let next = Monitor(0)
  try concurrently(
    (0..<lanes).map { _ in
      {
        while true {
          let index = next.withLock { next in
            defer { next += 1 }
            return next
          }
          guard index < rows.count else { return }
          do {
            try run(rows[index])
          } catch {
            failures.withLock { $0.append("\(name(rows[index])): \(error)") }
          }
        }
      }
    })
  return failures.withLock { $0 }
}
