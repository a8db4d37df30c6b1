// An index of format 1, without checksums in its rows, is taken over as it is.
import CLMDB
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct MigrationTests {
  /// Makes the index what format 1 wrote: the same rows without their last eight octets.
  private func downgrade(_ directory: Directory) throws {
    func must(_ code: Int32) throws { if code != 0 { throw IndexError(code: code) } }
    var environment: OpaquePointer?
    try must(mdb_env_create(&environment))
    defer { mdb_env_close(environment) }
    try must(mdb_env_set_maxdbs(environment, 16))
    try must(mdb_env_set_mapsize(environment, 1 << 30))
    try must(mdb_env_open(environment, directory.path + "/cache/index", UInt32(MDB_NOTLS), 0o644))
    var transaction: OpaquePointer?
    try must(mdb_txn_begin(environment, nil, 0, &transaction))
    for table in Table.allCases {
      var handle: MDB_dbi = 0
      try must(mdb_dbi_open(transaction, table.name, 0, &handle))
      var cursor: OpaquePointer?
      try must(mdb_cursor_open(transaction, handle, &cursor))
      defer { mdb_cursor_close(cursor) }
      var rows: [(key: [UInt8], value: [UInt8])] = []
      var (key, value) = (MDB_val(), MDB_val())
      while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
        let bytes = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
        rows.append(
          (Array(UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)), Array(bytes.dropLast(RowSeal.size))))
      }
      for row in rows {
        let old = table == .meta && row.key == IndexKey.format ? [1, 0, 0, 0] : row.value
        let code = Index.withValue(row.key) { key in
          Index.withValue(old) { value in mdb_put(transaction, handle, &key, &value, 0) }
        }
        try must(code)
      }
    }
    try must(mdb_txn_commit(transaction))
  }

  @Test func theFormatBeforeIsReadAndGetsItsChecksums() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    for number in 0..<3000 {
      first.add(
        response("\(number)"), for: key("empty\(number)"),
        representation: first.makeRepresentation(validator: validator, total: nil))
    }
    try await first.fill("large", total: 900_000, [ByteSpan(0, 500_000)])
    try await first.fill("small", total: 1000, [ByteSpan(0, 1000)])
    await first.close()
    try downgrade(directory)
    // It has no checksums yet: a look at it says so.
    #expect(throws: StoreOpenError.unknownVersion(directory: directory.path + "/cache", found: 1, expected: 2)) {
      try StoreVerifier.run(
        directory: directory.path + "/cache", repairs: false, report: { _ in }, progress: { _ in })
    }
    let store = try Store.open(options(directory))
    let large = try #require(await store.entries(for: key("large")).first)
    #expect(large.response == response("large"))
    #expect(try await large.representation.verified(ByteSpan(0, 900_000)) == SpanSet([ByteSpan(0, 500_000)]))
    let small = try #require(await store.entries(for: key("small")).first)
    #expect(try await small.representation.verified(ByteSpan(0, 1000)).totalBytes == 1000)
    for number in [0, 1023, 1024, 2048, 2999] {
      #expect(await store.entries(for: key("empty\(number)")).first?.response == response("\(number)"))
    }
    #expect(store.statistics.indexErrors == 0)
    await store.close()
    let verdict = try StoreVerifier.run(
      directory: directory.path + "/cache", repairs: false, report: { _ in }, progress: { _ in })
    #expect(!verdict.isBad && verdict.objects == 3002)
  }
}
