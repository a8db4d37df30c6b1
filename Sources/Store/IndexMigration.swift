// Taking over an index of format 1, whose rows have no checksums.

extension Index {
  /// The format whose rows have no checksums.
  static let unsealedFormat: UInt32 = 1

  /// Gives every row its checksum and the index the format `format`, in one transaction: it is done or it is not.
  /// Blocks for some microseconds a row.
  func migrate(to format: UInt32) throws {
    var number: [UInt8] = []
    number.put(format)
    try transform { reader, apply in
      for table in Table.allCases {
        var next: [UInt8]? = []
        while let first = next {
          next = nil
          var batch = Operations()
          var rows = 0
          reader.scanRaw(table, from: first) { key, value in
            let key = Array(key)
            guard rows < 1024 else {
              next = key
              return false
            }
            rows += 1
            // A put seals the value that it is given.
            batch.put(table, key, table == .meta && key == IndexKey.format ? number : Array(value))
            return true
          }
          try apply(batch)
        }
      }
    }
  }
}
