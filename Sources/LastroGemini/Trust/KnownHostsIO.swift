// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(Glibc)
  internal import Glibc
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
  /// A larger file cannot be a file of known hosts.
  private static let maximumBytes = 16 << 20

  /// Links that lead on to links, as many as the kernel follows.
  private static let maximumLinks = 40

  /// The path behind symbolic links, which are to stay links, also where what they name is still to be made.
  static func resolved(_ path: String) throws(GeminiKnownHostsError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw GeminiKnownHostsError("the path of the known hosts is empty or has a NUL", hint: "name a file")
    }
    var path = path
    for _ in 0..<maximumLinks {
      if let real = realpath(path, nil) {
        defer { free(real) }
        return String(cString: real)
      }
      guard errno == ENOENT, let target = try linked(path) else { return path }
      path = target.utf8.first == UInt8(ascii: "/") ? target : directory(of: path) + target
    }
    throw failure("\(path) cannot be resolved", ELOOP)
  }

  /// The target of a symbolic link; `nil` for other files.
  private static func linked(_ path: String) throws(GeminiKnownHostsError) -> String? {
    var isLink = false
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { space, count in
      let result = space.withMemoryRebound(to: CChar.self) { space in
        space.baseAddress.map { readlink(path, $0, space.count) } ?? -1
      }
      isLink = result >= 0
      count = max(0, result)
    }
    guard isLink else { return nil }
    guard let target = String(validating: bytes, as: UTF8.self) else {
      throw GeminiKnownHostsError("\(path) links to a path that is not UTF-8", hint: "name the file itself")
    }
    return target
  }

  /// With its slash; empty for none.
  private static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[...slash])
  }

  /// The whole text; `nil` for a file that is not there.
  ///
  /// - Parameter path: resolved.
  static func read(_ path: String) throws(GeminiKnownHostsError) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw failure("cannot open \(path)", hint: readable) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else {
      throw unfit(path)
    }
    var bytes: [UInt8] = []
    while bytes.count <= maximumBytes {
      // What cannot be read must not look like an end: hosts would count as never seen.
      var problem: Int32?
      let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
        let result = retrying { systemRead(file, space.baseAddress, space.count) }
        if result < 0 { problem = errno }
        count = max(0, result)
      }
      if let problem { throw failure("cannot read \(path)", problem, hint: readable) }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard bytes.count <= maximumBytes else { throw unfit(path) }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw GeminiKnownHostsError("\(path) is not UTF-8", hint: "name a file of known hosts, or mend it")
    }
    return text
  }

  private static func unfit(_ path: String) -> GeminiKnownHostsError {
    GeminiKnownHostsError("\(path) is not a file of known hosts", hint: "name a regular file of at most 16 MiB")
  }

  /// Puts a new file in the place of the old one, at once: a reader sees the one or the other.
  static func replace(_ path: String, with text: String) throws(GeminiKnownHostsError) {
    let name = "\(path).\(String(RandomSource.system.next(), radix: 36))"
    // No program that is started meanwhile gets it.
    let file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("cannot make a file beside \(path)") }
    let isWritten = write(Array(text.utf8), to: file) && fchmod(file, 0o600) == 0 && fsync(file) == 0
    let reason = errno
    let isReplaced = close(file) == 0 && isWritten && rename(name, path) == 0
    guard isReplaced else {
      let reason = isWritten ? errno : reason
      unlink(name)
      throw failure("cannot write \(path)", reason)
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

  private static let readable = "let this process read it"
  private static let writable = "check that its directory exists and may be written to"

  static func failure(
    _ message: String, _ reason: Int32 = errno, hint: String = writable
  ) -> GeminiKnownHostsError {
    GeminiKnownHostsError("\(message): \(String(cString: strerror(reason)))", hint: hint)
  }
}

/// A lock between processes, and between its users in one process. The kernel lets it go with the process.
final class KnownHostsLock: Sendable {
  private let file: Int32

  init(_ path: String) throws(GeminiKnownHostsError) {
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw KnownHostsIO.failure("cannot open \(path)") }
  }

  deinit { close(file) }

  /// Takes it, if it is free. The file stays when the lock is let go: removing it would let two have it.
  ///
  /// - Throws: where that cannot be told, as on a file system without locks.
  func take() throws(GeminiKnownHostsError) -> Bool {
    if flock(file, LOCK_EX | LOCK_NB) == 0 { return true }
    guard errno == EWOULDBLOCK || errno == EINTR else { throw KnownHostsIO.failure("the known hosts cannot be locked") }
    return false
  }

  func release() { _ = flock(file, LOCK_UN) }
}
