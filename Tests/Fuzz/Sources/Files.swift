// What is read from the disk: the settings file and the rows of the index.

import CachePolicy
import Configuration
import HTTPMessage

@testable import Store

func fuzzSettings(_ input: [UInt8]) {
  do {
    let settings = try Settings.parse(text: String(decoding: input, as: UTF8.self), name: "fuzz")
    for setting in SettingsTable.all { must(!setting.values(settings).contains(""), "\(setting.name) is empty") }
    try settings.validate()
  } catch {
    must(!error.description.isEmpty, "an error without words")
  }
}

func fuzzIndexRecord(_ input: [UInt8]) {
  guard let kind = input.first else { return }
  let row = Array(input.dropFirst())
  switch kind % 5 {
  case 0:
    guard let record = try? RepresentationRecord.decode(row.span.bytes) else { return }
    let again = try? RepresentationRecord.decode(record.encoded().span.bytes)
    must(again == record, "a written representation is read as another")
  case 1:
    guard let record = try? UsageRecord.decode(row.span.bytes) else { return }
    must(record.encoded() == row, "a written usage is another row")
  case 2:
    guard let extent = try? ExtentRecord.decode(row.span.bytes, lower: 0) else { return }
    must(extent.length <= Extent.largest, "an extent is too large")
    must(ExtentRecord(extent).encoded() == row, "a written extent is another row")
  case 3:
    guard let record = try? PackRecord.decode(row.span.bytes) else { return }
    must(record.encoded() == row, "a written pack is another row")
  default:
    guard let decoded = try? ResponseRecord.decode(row.span.bytes) else { return }
    let written = ResponseRecord(
      response: decoded.response, key: decoded.key, representation: decoded.representation
    ).encoded()
    let again = try? ResponseRecord.decode(written.span.bytes)
    must(again?.key == decoded.key && again?.representation == decoded.representation, "a written key is another")
    must(again?.response.fields == decoded.response.fields, "written fields are read as others")
    must(again?.response.nominated == decoded.response.nominated, "written nominated fields are read as others")
    _ = ResponseRecord.variant(of: decoded.response)
  }
}
