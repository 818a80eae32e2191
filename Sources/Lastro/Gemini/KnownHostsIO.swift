// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

// The system's calls, which methods of the same names hide.
private func systemRead(_ file: Int32, _ space: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(file, space, count)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }

/// Reads and replaces a small file.
enum KnownHostsIO {
  /// A file of known hosts that is larger is none.
  private static let maximumBytes = 16 << 20

  /// The path behind symbolic links, which are to stay links.
  static func resolved(_ path: String) throws(GeminiKnownHostsError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw GeminiKnownHostsError("the path of the known hosts is empty or has a NUL", hint: "name a file")
    }
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// The whole text; `nil` for a file that is not there.
  ///
  /// - Parameter path: resolved.
  static func read(_ path: String) throws(GeminiKnownHostsError) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw failure("\(path) cannot be opened") }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else {
      throw GeminiKnownHostsError(
        "\(path) is no file of known hosts", hint: "name a regular file of at most 16 MiB")
    }
    var bytes: [UInt8] = []
    while bytes.count <= maximumBytes {
      let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
        count = max(0, retrying { systemRead(file, space.baseAddress, space.count) })
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw GeminiKnownHostsError("\(path) is not UTF-8", hint: "name a file of known hosts, or mend it")
    }
    return text
  }

  /// Puts a new file in the place of the old one, at once: whoever reads sees the one or the other.
  static func replace(_ path: String, with text: String) throws(GeminiKnownHostsError) {
    var template = Array("\(path).XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw failure("no file can be made beside \(path)") }
    let isWritten = write(Array(text.utf8), to: file) && fchmod(file, 0o600) == 0 && fsync(file) == 0
    let reason = errno
    let isReplaced = close(file) == 0 && isWritten && rename(template, path) == 0
    guard isReplaced else {
      let reason = isWritten ? errno : reason
      unlink(template)
      throw failure("\(path) cannot be written", reason)
    }
  }

  private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { bytes in retrying { systemWrite(file, bytes.baseAddress, bytes.count) } }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func retrying(_ call: () -> Int) -> Int {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }

  static func failure(_ message: String, _ reason: Int32 = errno) -> GeminiKnownHostsError {
    GeminiKnownHostsError(
      "\(message): \(String(cString: strerror(reason)))", hint: "see that its directory exists and may be written to")
  }
}

/// A lock between processes, and between those who take it in one process. The kernel lets it go with the process.
final class KnownHostsLock: Sendable {
  private let file: Int32

  init(_ path: String) throws(GeminiKnownHostsError) {
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw KnownHostsIO.failure("\(path) cannot be opened") }
  }

  deinit { close(file) }

  /// Takes it, if nobody has it. The file stays when the lock is let go: removing it would let two have it.
  func take() -> Bool { flock(file, LOCK_EX | LOCK_NB) == 0 }

  func release() { _ = flock(file, LOCK_UN) }
}
