// Short ways to write the messages that the tables are about.
import CachePolicy
import HTTPMessage

/// The moment at which all tables begin: Sun, 06 Nov 1994 08:49:37 GMT.
let start = Timestamp(seconds: 784_111_777)

/// Fields from lines; `{-60}` stands for the date 60 seconds before `start`.
func fields(_ lines: [String]) -> Fields {
  var result = Fields()
  for line in lines {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = FieldName(String(parts[0])), let value = FieldValue(dated(String(parts[1])))
    else { preconditionFailure("not a field line: \(line)") }
    result.append(name, value)
  }
  return result
}

private func dated(_ text: String) -> String {
  guard let open = text.firstIndex(of: "{"), let close = text.firstIndex(of: "}"),
    let offset = Int64(text[text.index(after: open)..<close])
  else { return text }
  return text[..<open] + HTTPDate.format(start + offset).string + text[text.index(after: close)...]
}

func request(_ lines: [String] = [], method: Method = .get) -> RequestHead {
  RequestHead(method: method, target: .origin("/"), fields: fields(lines))
}

func response(_ status: Int = 200, _ lines: [String] = []) -> ResponseHead {
  ResponseHead(status: status, fields: fields(lines))
}

/// A stored response that was asked for and received at `start`.
func stored(_ lines: [String], status: Int = 200, to request: RequestHead = request()) -> StoredResponse {
  StoredResponse(storing: response(status, lines), to: request, requestTime: start, responseTime: start)
}

func target(_ text: String) throws -> TargetURI { try TargetURI.parse(text) }
