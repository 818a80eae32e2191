// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A small text file that only its owner may read, and that is always replaced as a whole.
package struct PrivateFile: Sendable {
  /// The reason why the file could not be read or replaced.
  package enum Failure: Error {
    /// A system call failed. The values are its purpose, the text for its `errno`, and the usual remedy.
    case system(String, reason: String, hint: String)
    /// The file is not a regular file, or is larger than 16 MiB.
    case unfit
    /// The file is not UTF-8.
    case notText
    /// The text to write is larger than the limit for reading. The value is its size in bytes.
    case tooLarge(Int)
  }

  package static let maximumBytes = 16 << 20

  private let path: String

  /// Refers to a file, which need not exist.
  ///
  /// - Parameter path: the path, without a NUL.
  package init(_ path: String) { self.path = path }

  /// Returns the whole text; `nil` if there is no file.
  ///
  /// - Parameter isOwn: whether the program has chosen the path itself, so that it may remove the remains of a
  ///   replacement by a process that was killed. Beside a file that a user names, a file `PATH.new` is the user's.
  ///   Default true.
  package func read(isOwn: Bool = true) throws(Failure) -> String? {
    if isOwn { removeLeftover() }
    // Do not block on a pipe that has no writer.
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw .unreadable("cannot open", errno)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.maximumBytes
    else { throw .unfit }
    guard let bytes = [UInt8](readingFrom: descriptor, upTo: Self.maximumBytes) else {
      throw .unreadable("cannot read", errno)
    }
    guard bytes.count <= Self.maximumBytes else { throw .unfit }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText }
    return text
  }

  /// Replaces the file atomically: a reader sees either the old file or the new one.
  ///
  /// The new file is named `PATH.new` until it is complete. The remains of a process that was killed are overwritten.
  /// While another process is writing a file of that name, the new file has a random name.
  package func replace(with text: String) throws(Failure) {
    guard text.utf8.count <= Self.maximumBytes else { throw .tooLarge(text.utf8.count) }
    // Replacing a device or a pipe would remove it for all programs.
    var status = stat()
    guard stat(path, &status) != 0 || [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { throw .unfit }
    let (name, descriptor) = try neighbor()
    var text = text
    var reason: Int32 = 0
    func noting(_ succeeds: Bool) -> Bool {
      if !succeeds, reason == 0 { reason = errno }
      return succeeds
    }
    let isWritten = noting(text.withUTF8 { UnsafeRawBufferPointer($0).writeAll(to: descriptor) })
    // Set the mode explicitly: the process's umask might prevent the owner from reading the file.
    let isKept = isWritten && noting(fchmod(descriptor, 0o600) == 0 && uninterrupted { fsync(descriptor) } == 0)
    // A close that is interrupted closes the file, too, and the sync has written all of it.
    let isClosed = noting(close(descriptor) == 0 || errno == EINTR)
    guard isKept, isClosed, noting(rename(name, path) == 0) else {
      unlink(name)
      throw .unwritable("cannot write", reason)
    }
  }

  private var usualName: String { "\(path).new" }

  /// Creates an empty file in the same folder. Only its owner may read it, and programs that are started in the
  /// meantime do not inherit its descriptor.
  package func neighbor() throws(Failure) -> (name: String, descriptor: Int32) {
    let usual = uninterrupted { open(usualName, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600) }
    if let descriptor = locked(usual) {
      let isReady = fchmod(descriptor, 0o600) == 0 && uninterrupted { ftruncate(descriptor, 0) } == 0
      if isReady { return (usualName, descriptor) }
      close(descriptor)
    }
    let name = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    let descriptor = uninterrupted { open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard descriptor >= 0 else { throw .unwritable("cannot make a file beside", errno) }
    return (name, descriptor)
  }

  /// Removes the file with the usual temporary name, unless a process is writing it.
  private func removeLeftover() {
    let usual = uninterrupted { open(usualName, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard let descriptor = locked(usual) else { return }
    unlink(usualName)
    close(descriptor)
  }

  /// Returns the descriptor with a lock that is held until it is closed. Closes the descriptor and returns `nil` if
  /// another process has the lock, if the file has another owner or another link, or if it no longer has the usual
  /// name.
  private func locked(_ descriptor: Int32) -> Int32? {
    guard descriptor >= 0 else { return nil }
    var opened = stat()
    var named = stat()
    let code = uninterrupted { flock(descriptor, LOCK_EX | LOCK_NB) }
    guard code == 0, fstat(descriptor, &opened) == 0, lstat(usualName, &named) == 0,
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

  /// Returns the failure of a call to create or write a file.
  package static func unwritable(_ words: String, _ reason: Int32) -> Self {
    let hint = "check that its directory exists and may be written to"
    return .system(words, reason: String(cString: strerror(reason)), hint: hint)
  }
}
