// Field values with a form of their own: ranges, structured fields, dates.

import HTTPMessage
import Spans

func fuzzRanges(_ input: [UInt8]) {
  // The first octets are the length that the ranges are resolved against.
  guard input.count > 8, let value = FieldValue(bytes: input[8...]) else { return }
  let total = input[..<8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> (input[0] & 63)
  var fields = Fields()
  fields.append(.range, value)
  if let single = RangeField.single(fields) {
    must(RangeField.parse(value, limit: 1) == .bytes([single]), "a single range is read as others")
  }
  if case .bytes(let ranges) = RangeField.parse(value, limit: 16) {
    must(!ranges.isEmpty && ranges.count <= 16, "\(ranges.count) ranges")
    for range in ranges {
      must(RangeField.parse(range.fieldValue, limit: 1) == .bytes([range]), "a written range is read as another")
    }
    if case .spans(let spans) = RangeResolution.resolve(ranges, total: total) {
      must(!spans.isEmpty && spans.count <= ranges.count, "\(spans.count) spans of \(ranges.count) ranges")
      for span in spans { must(span.lower < span.upper && span.upper <= total, "\(span) of \(total)") }
      let set = SpanSet(spans)
      for span in spans { must(set.contains(span), "\(span) is missing from its own set") }
    }
  }
  if let range = ContentRange.parse(value) {
    must(ContentRange.parse(range.fieldValue) == range, "a written Content-Range is read as another")
    if case .satisfied(let first, let last, let total) = range {
      must(first <= last && last < total ?? .max, "a Content-Range outside its total")
    }
  }
}

func fuzzStructuredField(_ input: [UInt8]) {
  guard let value = FieldValue(bytes: input) else { return }
  if let list = StructuredField.parseList(value), !list.isEmpty {
    let written = StructuredField.serialize(list: list)
    must(written.flatMap(StructuredField.parseList) == list, "a written list is read as another")
  }
  if let dictionary = StructuredField.parseDictionary(value), !dictionary.isEmpty {
    let written = StructuredField.serialize(dictionary: dictionary)
    must(written.flatMap(StructuredField.parseDictionary) == dictionary, "a written dictionary is read as another")
    must(Set(dictionary.map(\.key)).count == dictionary.count, "a key comes twice")
  }
  if let item = StructuredField.parseItem(value) {
    let written = StructuredField.serialize(item: item)
    must(written.flatMap(StructuredField.parseItem) == item, "a written item is read as another")
  }
}

func fuzzDate(_ input: [UInt8]) {
  let now = Timestamp(seconds: 1_760_000_000)
  if let value = FieldValue(bytes: input), value.bytes.count == input.count {
    must(HTTPDate.parse(value, now: now) == HTTPDate.parse(input, now: now), "a value is read as another date")
  }
  guard let moment = HTTPDate.parse(input, now: now) else { return }
  let written = HTTPDate.format(moment)
  must(HTTPDate.parse(written, now: now) == moment, "a written date is read as another: \(moment.seconds) \(written)")
}
