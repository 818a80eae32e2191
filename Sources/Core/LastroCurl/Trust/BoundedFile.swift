// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// Reads whole files of limited size. Calls may block for as long as the file system does.
enum BoundedFile {
  /// The reason why a file cannot be used.
  struct Failure: Error {
    /// The reason, which follows the file's name in an error.
    let text: String

    /// Returns the failure of a system call with this `errno`.
    static func system(_ code: Int32) -> Self { Self(text: "cannot be read: \(SystemError.text(code))") }
  }

  /// The time that a pipe's writer has to close it, so that the waiting thread does not wait forever.
  private static let pipeLimit = Duration.seconds(60)

  /// Returns the contents of a file.
  ///
  /// - Parameters:
  ///   - most: the largest accepted size in bytes, a multiple of 1 MiB.
  ///   - takesPipes: whether the path may lead to a pipe, which is read to its end.
  static func bytes(of path: String, upTo most: Int, takesPipes: Bool = false) throws(Failure) -> [UInt8] {
    // A path with a NUL would be truncated there. Without `O_NONBLOCK`, opening a pipe would wait for a writer.
    guard !path.utf8.contains(0) else { throw .system(ENOENT) }
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
    guard descriptor >= 0 else { throw .system(errno) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { throw .system(errno) }
    let kind = facts.st_mode & S_IFMT
    guard kind == S_IFREG || (kind == S_IFIFO && takesPipes) else {
      throw Failure(text: takesPipes ? "is neither a file nor a pipe" : "is not a file")
    }
    let end = kind == S_IFIFO ? monotonicNow().adding(pipeLimit) : nil
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end { try wait(for: POLLIN, on: descriptor, until: end) }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count >= 0 else { throw .system(errno) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= most else { throw Failure(text: "exceeds \(most >> 20) MiB") }
    }
  }

  /// Waits until a pipe is ready for an event (`POLLIN` or `POLLOUT`), or its other end is closed. A pipe that never
  /// had a writer is not ready to be read.
  ///
  /// - Throws: ``Failure``, at the latest at the time `end`.
  static func wait(for event: Int32, on descriptor: Int32, until end: Int64) throws(Failure) {
    while true {
      let left = end - monotonicNow()
      guard left > 0 else { throw Failure(text: "is a pipe that was not written to and closed within a minute") }
      var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
      let count = poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1))
      if count > 0 { return }
      guard count == 0 || errno == EINTR else { throw .system(errno) }
    }
  }
}
