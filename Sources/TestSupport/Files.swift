// Temporary folders and small files for tests.
internal import Glibc

/// A folder under the system's temporary folder, removed by `remove()`.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init(_ label: String = "larder-test") throws {
    let parent = environment("TMPDIR") ?? "/tmp"
    var template = Array("\(parent)/\(label)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw HarnessError.system("mkdtemp") }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    // A web server's worker may run as another user.
    chmod(path, 0o755)
  }

  public func remove() {
    removeTree(path)
  }

  public func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Removes a file or a folder with all it holds.
public func removeTree(_ path: String) {
  if unlink(path) == 0 { return }
  for name in names(in: path) { removeTree("\(path)/\(name)") }
  rmdir(path)
}

/// What a folder holds, without `.` and `..`.
private func names(in path: String) -> [String] {
  guard let folder = opendir(path) else { return [] }
  defer { closedir(folder) }
  var names: [String] = []
  while let entry = readdir(folder) {
    let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name != "." && name != ".." { names.append(name) }
  }
  return names
}

/// Makes a folder and its parents.
public func makeFolder(_ path: String) throws {
  var made = path.hasPrefix("/") ? "" : "."
  for part in path.split(separator: "/") {
    made += "/\(part)"
    guard mkdir(made, 0o755) == 0 || errno == EEXIST else { throw HarnessError.system("mkdir \(made)") }
  }
}

/// Writes a file anew.
public func writeFile(_ path: String, _ bytes: [UInt8]) throws {
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
  guard file >= 0 else { throw HarnessError.system("open \(path)") }
  defer { close(file) }
  var done = 0
  while done < bytes.count {
    let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + done, $0.count - done) }
    guard count > 0 else { throw HarnessError.system("write \(path)") }
    done += count
  }
}

/// Writes a text file anew.
public func writeFile(_ path: String, _ text: String) throws {
  try writeFile(path, Array(text.utf8))
}

/// The whole of a file.
public func readFile(_ path: String) throws -> [UInt8] {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { throw HarnessError.system("open \(path)") }
  defer { close(file) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 256 << 10)
  while true {
    let count = read(file, &buffer, buffer.count)
    guard count >= 0 else { throw HarnessError.system("read \(path)") }
    if count == 0 { return bytes }
    bytes.append(contentsOf: buffer[..<count])
  }
}

/// The whole of a text file.
public func readText(_ path: String) throws -> String {
  String(decoding: try readFile(path), as: UTF8.self)
}

/// Whether there is anything at a path.
public func exists(_ path: String) -> Bool {
  access(path, F_OK) == 0
}

/// All regular files below a folder with their sizes, sorted by path.
public func filesBelow(_ path: String) -> [(path: String, size: Int)] {
  var found: [(path: String, size: Int)] = []
  for name in names(in: path) {
    let child = "\(path)/\(name)"
    var status = stat()
    guard lstat(child, &status) == 0 else { continue }
    if status.st_mode & S_IFMT == S_IFDIR {
      found += filesBelow(child)
    } else if status.st_mode & S_IFMT == S_IFREG {
      found.append((child, Int(status.st_size)))
    }
  }
  return found.sorted { $0.path < $1.path }
}

/// How many bytes the blocks of the regular files below a folder have.
public func bytesOccupied(below path: String) -> Int {
  filesBelow(path).reduce(0) { sum, file in
    var status = stat()
    return stat(file.path, &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
  }
}

/// Waits by inotify until `ready` returns a value; it is asked at once and after each change of the file.
public func waitForFile<Result>(
  _ path: String, for what: String, seconds: Double = Patience.seconds, _ ready: (String) throws -> Result?
) throws -> Result {
  let notices = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
  guard notices >= 0 else { throw HarnessError.system("inotify_init1") }
  defer { close(notices) }
  let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
  guard inotify_add_watch(notices, folder, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)) >= 0 else {
    throw HarnessError.system("inotify_add_watch \(folder)")
  }
  let limit = monotonicSeconds() + seconds
  while true {
    let text = exists(path) ? try readText(path) : ""
    if let result = try ready(text) { return result }
    let left = limit - monotonicSeconds()
    guard left > 0 else { throw HarnessError("waited \(seconds) s in vain for \(what) in \(path); it holds:\n\(text)") }
    var entry = pollfd(fd: notices, events: Int16(POLLIN), revents: 0)
    poll(&entry, 1, Int32(left * 1000) + 1)
    var drain = [UInt8](repeating: 0, count: 4096)
    while read(notices, &drain, drain.count) > 0 {}
  }
}
