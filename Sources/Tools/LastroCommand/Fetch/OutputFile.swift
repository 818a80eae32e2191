// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroSupport

/// A file that gets its name once it is complete. Until then it has no name, or a temporary one in the same folder if
/// the file system requires one. A path that is not a regular file, such as a pipe, a dangling link or a descriptor of
/// the process, is written to directly.
final class OutputFile {
  let descriptor: Int32
  private var path: String
  /// The path with the name that was offered; `nil` if the file does not have that name.
  private(set) var offeredPath: String?
  /// The temporary name; `nil` if the file has none.
  private var temporary: String?
  private let isDirect: Bool
  private var isOpen = true

  /// `O_TMPFILE`, which Swift does not import because it is a complex macro.
  private static let unnamed = 0o20_000_000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC

  init(_ name: String) throws(ResponseOutput.WriteFailure) {
    var status = stat()
    let exists = stat(name, &status) == 0
    if let direct = Self.direct(name, exists ? status : nil) {
      (path, isDirect) = (name, true)
      descriptor = direct
      guard descriptor >= 0 else { throw ResponseOutput.WriteFailure(name) }
      return
    }
    isDirect = false
    guard let target = exists ? Self.resolved(name) : name else { throw ResponseOutput.WriteFailure(name) }
    path = target
    let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
    // Without /proc, an unnamed file could not be linked to a name.
    var opened = access("/proc/self/fd", F_OK) == 0 ? Self.open(folder, Self.unnamed) : -1
    if opened < 0 {
      temporary = Self.beside(target)
      opened = Self.open(temporary ?? "", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)
    }
    descriptor = opened
    guard opened >= 0 else { throw ResponseOutput.WriteFailure(name) }
    if exists { fchmod(descriptor, status.st_mode & 0o777) }
  }

  deinit { discard() }

  private static func open(_ path: String, _ flags: Int32) -> Int32 {
    uninterrupted { Glibc.open(path, flags, 0o666) }
  }

  /// Opens a file that is written to directly; returns `nil` for a file that gets its name at the end.
  private static func direct(_ name: String, _ status: stat?) -> Int32? {
    // A shell may have redirected the descriptor to a file, and continues to write there after this program.
    if let number = standing(name) { return fcntl(number, F_DUPFD_CLOEXEC, 3) }
    if let status { return status.st_mode & S_IFMT == S_IFREG ? nil : WriteDeadline.open(name, O_WRONLY | O_CLOEXEC) }
    var link = stat()
    return lstat(name, &link) == 0 ? WriteDeadline.open(name, O_WRONLY | O_CREAT | O_CLOEXEC) : nil
  }

  /// Returns the descriptor that a name such as `/dev/stdout` refers to.
  private static func standing(_ name: String) -> Int32? {
    switch name {
    case "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default:
      return ["/dev/fd/", "/proc/self/fd/"].first(where: name.hasPrefix)
        .flatMap { Int32(digits: name.dropFirst($0.count)) }
    }
  }

  private static func resolved(_ name: String) -> String? {
    guard let real = realpath(name, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func beside(_ path: String) -> String {
    "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
  }

  /// Gives the file its name, replacing an existing file.
  ///
  /// - Parameter offered: another name in the same folder, which no file may have.
  func commit(named offered: String? = nil) throws(ResponseOutput.WriteFailure) {
    defer { discard() }
    guard !isDirect else { return }
    if let offered {
      path = (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "") + offered
      offeredPath = path
      guard access(path, F_OK) != 0 else {
        errno = EEXIST
        throw ResponseOutput.WriteFailure(path)
      }
    }
    if temporary == nil {
      let other = Self.beside(path)
      guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, other, AT_SYMLINK_FOLLOW) == 0 else {
        throw ResponseOutput.WriteFailure(path)
      }
      temporary = other
    }
    guard let name = temporary, rename(name, path) == 0 else { throw ResponseOutput.WriteFailure(path) }
    temporary = nil
  }

  /// Closes the file, and removes it if it has no final name yet.
  func discard() {
    if isOpen { close(descriptor) }
    isOpen = false
    if let temporary { unlink(temporary) }
    temporary = nil
  }
}

extension ResponseOutput.WriteFailure {
  /// Creates the failure of a file, for the reason in `errno`. It is `ETIMEDOUT` if the limit of `-m` passed before a
  /// FIFO had a reader.
  init(_ path: String) {
    guard errno != ETIMEDOUT else {
      self = WriteDeadline.failure("no program opened \(path.onOneLine) for reading")
      return
    }
    let reason = String(cString: strerror(errno))
    self.init(
      description: "cannot write \(path.onOneLine): \(reason) (check that its directory exists and may be written to)")
  }
}
