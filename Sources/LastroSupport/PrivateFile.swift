// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// A small text file that only its owner may read, and that is replaced as a whole.
package struct PrivateFile: Sendable {
  /// Why it was not read or replaced.
  package enum Failure: Error {
    /// A call to the system failed: what it was for, its `errno`, and the usual remedy.
    case system(String, reason: String, hint: String)
    /// It is no regular file, or has more than 16 MiB.
    case unfit
    /// It is not UTF-8.
    case notText
    /// The text to write has so many bytes, more than would be read.
    case tooLarge(Int)
  }

  package static let maximumBytes = 16 << 20

  private let path: String

  /// - Parameter path: without a NUL.
  package init(_ path: String) { self.path = path }

  /// The whole text; `nil` where there is no file. Removes what a process that was killed left of a replacement.
  package func read() throws(Failure) -> String? {
    removeLeftover()
    // A pipe without a writer must not hold the program up.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0, let file = fdopen(descriptor, "r") else {
      if errno == ENOENT { return nil }
      throw .unreadable("cannot open", errno)
    }
    defer { fclose(file) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.maximumBytes
    else { throw .unfit }
    var bytes: [UInt8] = []
    while bytes.count <= Self.maximumBytes {
      var reason: Int32 = 0
      let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
        count = fread(space.baseAddress, 1, space.count, file)
        reason = errno
      }
      // What cannot be read must not look like an end: what stands behind it would count as never written.
      guard ferror(file) == 0 else { throw .unreadable("cannot read", reason) }
      if piece.isEmpty { break }
      bytes += piece
    }
    guard bytes.count <= Self.maximumBytes else { throw .unfit }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText }
    return text
  }

  /// Puts a new file in the place of the old one, at once: a reader sees the one or the other.
  ///
  /// The new file is `PATH.new` until it is whole. What a process that was killed left there is overwritten; while
  /// another process is writing it, the new file has a name that no other has.
  package func replace(with text: String) throws(Failure) {
    guard text.utf8.count <= Self.maximumBytes else { throw .tooLarge(text.utf8.count) }
    // A device or a pipe would be gone, for all programs.
    var status = stat()
    guard stat(path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { throw .unfit }
    let (name, descriptor) = try neighbor()
    guard let file = fdopen(descriptor, "w") else {
      let reason = errno
      close(descriptor)
      unlink(name)
      throw .unwritable("cannot write", reason)
    }
    var text = text
    var reason: Int32 = 0
    func noting(_ succeeds: Bool) -> Bool {
      if !succeeds, reason == 0 { reason = errno }
      return succeeds
    }
    let isWritten = noting(text.withUTF8 { fwrite($0.baseAddress, 1, $0.count, file) == $0.count })
    // Whatever the process's mask is, the owner may read it again.
    let isKept = isWritten && noting(fflush(file) == 0 && fchmod(descriptor, 0o600) == 0 && fsync(descriptor) == 0)
    let isClosed = noting(fclose(file) == 0)
    guard isKept, isClosed, noting(rename(name, path) == 0) else {
      unlink(name)
      throw .unwritable("cannot write", reason)
    }
  }

  private var usualName: String { "\(path).new" }

  /// An empty file beside it, which only its owner may read, and which no program gets that is started meanwhile.
  package func neighbor() throws(Failure) -> (name: String, descriptor: Int32) {
    if let descriptor = locked(open(usualName, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)) {
      if fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 { return (usualName, descriptor) }
      close(descriptor)
    }
    let name = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .unwritable("cannot make a file beside", errno) }
    return (name, descriptor)
  }

  /// Removes the file of the usual name, unless a process is writing it.
  private func removeLeftover() {
    guard let descriptor = locked(open(usualName, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) else { return }
    unlink(usualName)
    close(descriptor)
  }

  /// The descriptor with a lock that it holds until it is closed. Closes it and returns `nil` where another process has
  /// the lock, where the file is not this user's alone, and where it no longer has the usual name.
  private func locked(_ descriptor: Int32) -> Int32? {
    guard descriptor >= 0 else { return nil }
    var opened = stat()
    var named = stat()
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &opened) == 0, lstat(usualName, &named) == 0,
      opened.st_dev == named.st_dev, opened.st_ino == named.st_ino, opened.st_mode & S_IFMT == S_IFREG,
      opened.st_uid == geteuid(), opened.st_nlink == 1
    else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}

extension PrivateFile.Failure {
  fileprivate static func unreadable(_ words: String, _ reason: Int32) -> Self {
    .system(words, reason: String(cString: strerror(reason)), hint: "let this process read it")
  }

  /// The failure of a call that was to make or write a file.
  package static func unwritable(_ words: String, _ reason: Int32) -> Self {
    let hint = "check that its directory exists and may be written to"
    return .system(words, reason: String(cString: strerror(reason)), hint: hint)
  }
}
