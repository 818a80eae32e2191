// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import Lastro
public import LastroResilience
internal import LastroSupport

extension EndpointSource {
  /// Returns a source of the servers that a file lists, one on each line.
  ///
  /// Blank lines, and everything after a `#`, are ignored. The file is looked at every second, and read when it has
  /// changed. Replace it atomically, by renaming another one, so that it is never read while it is being written. If it
  /// is missing, empty, larger than 1 MiB or has a line that cannot be read, the last members stay.
  ///
  /// ```swift
  /// let servers = try EndpointSource.file("/etc/shop/servers")
  /// ```
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - url: the URL that the servers share. Its lines then are IP addresses with or without a port. Default `nil`: the
  ///     lines are URLs.
  /// - Throws: `ConfigurationError` for an empty path, one with a NUL, and an invalid URL.
  public static func file(_ path: String, of url: String? = nil) throws(ConfigurationError) -> EndpointSource {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ConfigurationError("the path of the file of servers is empty or has a NUL", hint: "give a path")
    }
    let origin = try url.map { url throws(ConfigurationError) in try Origin(url) }
    return EndpointSource("the file \(path.escapedForDisplay)", sharedOrigin: origin) { time, deliver in
      var last: WatchedFile.Version?
      while !Task.isCancelled {
        let version = WatchedFile.version(of: path)
        if version != last {
          last = version
          deliver(WatchedFile.answer(at: path, origin))
        }
        guard (try? await time.sleep(.seconds(1))) != nil else { return }
      }
    }
  }
}

/// A file that lists servers.
enum WatchedFile {
  static let mostBytes = 1_048_576

  /// The version of a file, which changes when the file is written or replaced.
  enum Version: Equatable {
    case missing
    case present(device: UInt64, inode: UInt64, size: Int64, seconds: Int, nanoseconds: Int)
  }

  static func version(of path: String) -> Version {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return .missing }
    return .present(
      device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size),
      seconds: Int(facts.st_mtim.tv_sec), nanoseconds: Int(facts.st_mtim.tv_nsec))
  }

  static func answer(at path: String, _ origin: Origin?) -> EndpointSource.Answer {
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, let bytes = [UInt8](readingFrom: descriptor, upTo: mostBytes) else {
      return .failure("the file cannot be read: \(String(cString: strerror(errno)))")
    }
    guard bytes.count <= mostBytes else { return .failure("the file is larger than 1 MiB") }
    return answer(to: String(decoding: bytes, as: UTF8.self), origin)
  }

  /// Returns the servers in a text.
  static func answer(to text: String, _ origin: Origin?) -> EndpointSource.Answer {
    let lines = text.split(whereSeparator: \.isNewline).compactMap { line -> String? in
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      return words.isEmpty ? nil : words.joined(separator: " ")
    }
    return EndpointSource.answer(lines) { line throws(ConfigurationError) in
      guard let origin else { return try Endpoint(line) }
      return try Endpoint(origin, address: MemberAddress(line))
    }
  }
}
