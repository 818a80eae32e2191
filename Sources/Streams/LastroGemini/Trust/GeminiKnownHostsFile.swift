// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A store of known hosts in a file that several processes may share.
///
/// ```
/// lastro-known-hosts 1
/// # a comment
/// example.com 1965 sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= 2027-01-01T00:00:00Z
/// ```
///
/// The first line has the format and its version. Each other line has a host in the form of `HostName`, a port, the pin
/// of the key, and the expiry of the certificate in UTC, separated by single spaces. Empty lines and lines that begin
/// with `#` are ignored, and preserved.
///
/// The file is read on every look-up, so that changes by other processes are seen. It is replaced by a new file (mode
/// 0600), under a lock (`flock`) on a file of the same name plus `.lock`; readers need no lock. A missing file counts
/// as empty.
///
/// A line that cannot be parsed fails every look-up, with its line number: otherwise its host would count as never
/// seen. An unknown version fails likewise. The file is not changed in either case.
package final class GeminiKnownHostsFile: GeminiKnownHosts {
  /// The path of the file.
  package let path: String
  private let time: TimeSource
  private let lockTimeout: Duration

  /// Creates a store for a file. Nothing is read or created yet.
  ///
  /// - Parameters:
  ///   - path: the path of the file. Its directory must exist when a host is stored.
  ///   - lockTimeout: the longest wait for another writer. Default 10 s.
  ///   - time: the time source for that wait.
  package init(path: String, lockTimeout: Duration = .seconds(10), time: TimeSource = .continuous) {
    self.path = path
    self.lockTimeout = lockTimeout
    self.time = time
  }

  /// Returns all known hosts.
  ///
  /// - Throws: an error if the file cannot be read or parsed.
  package func all() throws(ConfigurationError) -> [GeminiHost: GeminiKnownHost] {
    try text(at: try KnownHostsPath.resolved(path)).hosts
  }

  /// Returns the known key of a host.
  ///
  /// - Throws: an error if the file cannot be read or parsed.
  package func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost? { try all()[host] }

  /// Stores a host, or removes it.
  ///
  /// - Throws: an error if the file cannot be read, parsed or written, if another writer holds the lock for longer than
  ///   the limit, or if the task is cancelled during that wait.
  package func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool {
    let target = try KnownHostsPath.resolved(path)
    let lock = try await lock("\(target).lock")
    defer { lock.release() }
    var text = try text(at: target)
    guard text.hosts[host] == old else { return false }
    guard old != new else { return true }
    text.set(host, new)
    do throws(PrivateFile.Failure) {
      try PrivateFile(target).replace(with: text.text)
    } catch {
      throw ConfigurationError(error, target)
    }
    return true
  }

  private func text(at target: String) throws(ConfigurationError) -> KnownHostsText {
    let text: String?
    do throws(PrivateFile.Failure) {
      text = try PrivateFile(target).read()
    } catch {
      throw ConfigurationError(error, target)
    }
    return try KnownHostsText(text ?? "", path: path)
  }

  /// Acquires the lock by polling: a blocking wait would occupy a thread of the pool.
  private func lock(_ path: String) async throws(ConfigurationError) -> KnownHostsLock {
    let lock = try KnownHostsLock(path)
    let end = time.now() + lockTimeout
    var pause = Duration.milliseconds(1)
    while try !lock.acquireIfFree() {
      guard time.now() < end else {
        throw ConfigurationError(
          "\(path) is locked by another process for longer than \(lockTimeout.brief)",
          hint: "find out which process holds it; the lock ends with that process")
      }
      do {
        try await time.sleep(pause)
      } catch {
        throw ConfigurationError("remembering a host was cancelled")
      }
      pause = min(pause * 2, .milliseconds(50))
    }
    return lock
  }
}

/// The text of a known-hosts file. Its lines are preserved, except those of hosts that change.
struct KnownHostsText {
  static let header = "lastro-known-hosts 1"

  private(set) var hosts: [GeminiHost: GeminiKnownHost] = [:]
  private var lines: [String] = []
  private var lineOfHost: [GeminiHost: Int] = [:]

  /// - Parameter path: the path of the file, for messages.
  init(_ text: String, path: String) throws(ConfigurationError) {
    // Split by bytes: CRLF is a single character.
    lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      String(Substring(line.last == 0x0D ? line.dropLast() : line))
    }
    if lines.last == "" { lines.removeLast() }
    guard let first = lines.first else { return }
    guard first == Self.header else { throw Self.unknownVersion(first, path: path) }
    var problems: [String] = []
    for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty && !line.utf8.starts(with: "#".utf8) {
      do throws(ConfigurationError) {
        let (host, known) = try Self.read(line)
        if let earlier = lineOfHost[host] { throw ConfigurationError("\(host) is listed twice: line \(earlier + 1)") }
        hosts[host] = known
        lineOfHost[host] = index
      } catch {
        if problems.count < 3 { problems.append("line \(index + 1): \(error.message)") }
      }
    }
    guard problems.isEmpty else {
      let shown = problems.joined(separator: "; ")
      throw ConfigurationError(
        "\(path) has \(problems.count == 1 ? "a line" : "lines") that cannot be understood: \(shown)",
        hint: "fix or remove \(problems.count == 1 ? "it" : "them"); a host without its line counts as never seen")
    }
  }

  /// The text with a trailing line end.
  var text: String { lines.joined(separator: "\n") + "\n" }

  mutating func set(_ host: GeminiHost, _ known: GeminiKnownHost?) {
    if lines.isEmpty { lines = [Self.header] }
    let line = known.map { "\(host.host.text) \(host.port) \($0.pin) \($0.expires.inCalendar)" }
    switch (lineOfHost[host], line) {
    case (let index?, let line?): lines[index] = line
    case (let index?, nil): lines.remove(at: index)
    case (nil, let line?): lines.append(line)
    case (nil, nil): break
    }
    hosts[host] = known
    lineOfHost = [:]
  }

  private static func read(_ line: String) throws(ConfigurationError) -> (GeminiHost, GeminiKnownHost) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 4 else {
      throw ConfigurationError("it has not four words (host, port, pin, date), but \(words.count)")
    }
    let name = try HostName(words[0])
    guard let port = Int(digits: words[1]), 1...65_535 ~= port, let host = try? GeminiHost(name, port: port) else {
      throw ConfigurationError("its second word is not a port (1…65535)")
    }
    guard words[2].hasPrefix("sha256/"), let pin = SPKIHash(words[2]) else {
      throw ConfigurationError("its third word is not a pin")
    }
    // The strategy accepts too much, such as 30 February and text after the date.
    guard let date = try? Date(words[3], strategy: .iso8601), date.inCalendar == words[3] else {
      throw ConfigurationError("its fourth word is not a date in UTC")
    }
    return (host, GeminiKnownHost(pin: pin, expires: date))
  }

  private static func unknownVersion(_ line: String, path: String) -> ConfigurationError {
    let isOther = line.utf8.starts(with: "lastro-known-hosts ".utf8)
    let problem = isOther ? "has an unknown version" : "is not a file of known hosts"
    return ConfigurationError(
      "\(path) \(problem): its first line is not \"\(header)\"",
      hint: isOther ? "read it with the version of Lastro that wrote it" : "name another file")
  }
}
