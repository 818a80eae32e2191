// SPDX-License-Identifier: Apache-2.0

import Lastro

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A text file that only its owner may read, and that is replaced as a whole.
struct PrivateFile {
  static let maximumBytes = 16 << 20

  private let path: String

  init(_ path: String) throws(CookieError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw CookieError("the path of the file of cookies is empty or has a NUL", hint: "name a file")
    }
    self.path = path
  }

  /// The whole text; `nil` where there is no file.
  func read() throws(CookieError) -> String? {
    // A pipe without a writer must not hold the program up.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0, let file = fdopen(descriptor, "r") else {
      if errno == ENOENT { return nil }
      throw failure("cannot open", errno, hint: Self.readable)
    }
    defer { fclose(file) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.maximumBytes
    else { throw unfit }
    var bytes: [UInt8] = []
    while bytes.count <= Self.maximumBytes {
      let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
        count = fread(space.baseAddress, 1, space.count, file)
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard ferror(file) == 0 else { throw failure("cannot read", errno, hint: Self.readable) }
    guard bytes.count <= Self.maximumBytes, let text = String(validating: bytes, as: UTF8.self) else { throw unfit }
    return text
  }

  private var unfit: CookieError {
    CookieError("\(path) is not a file of cookies", hint: "name a regular file of UTF-8, of at most 16 MiB")
  }

  /// An empty file beside it, which only its owner may read, and which no program gets that is started meanwhile.
  func neighbor() throws(CookieError) -> (name: String, descriptor: Int32) {
    let name = "\(path).\(String(RandomSource.system.next(), radix: 36))"
    let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot make a file beside", errno, hint: Self.writable) }
    return (name, descriptor)
  }

  /// Puts a new file in the place of the old one: a reader sees the one or the other.
  func replace(with text: String) throws(CookieError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw CookieError(
        "the cookies for \(path) have \(text.utf8.count) bytes, above the maximum of 16 MiB",
        hint: "remove cookies, or lower CookieRules.maximumCookies")
    }
    // A device or a pipe would be gone, for all programs.
    var status = stat()
    guard stat(path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { throw unfit }
    let (name, descriptor) = try neighbor()
    guard let file = fdopen(descriptor, "w") else {
      let reason = errno
      close(descriptor)
      unlink(name)
      throw failure("cannot write", reason, hint: Self.writable)
    }
    var text = text
    var reason: Int32 = 0
    func noting(_ succeeds: Bool) -> Bool {
      if !succeeds, reason == 0 { reason = errno }
      return succeeds
    }
    let isWritten = noting(text.withUTF8 { fwrite($0.baseAddress, 1, $0.count, file) == $0.count })
    let isKept = isWritten && noting(fflush(file) == 0 && fsync(descriptor) == 0)
    let isClosed = noting(fclose(file) == 0)
    guard isKept, isClosed, noting(rename(name, path) == 0) else {
      unlink(name)
      throw failure("cannot write", reason, hint: Self.writable)
    }
  }

  private static let readable = "let this process read it"
  private static let writable = "check that its directory exists and may be written to"

  private func failure(_ words: String, _ reason: Int32, hint: String) -> CookieError {
    CookieError("\(words) \(path): \(String(cString: strerror(reason)))", hint: hint)
  }
}
