// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport

/// The deadline for writing output: the limit of `-m`.
///
/// Without a deadline, a pipe that is not read, or a FIFO that is not opened, would block the program forever.
enum WriteDeadline {
  private struct Limit {
    var seconds: Double
    var end: ContinuousClock.Instant
  }

  private static let limit = Lock<Limit?>(nil)
  /// The number of bytes that a pipe accepts without blocking once `poll` reports room (`PIPE_BUF`).
  private static let pieceWithoutBlocking = 4096

  /// Sets the deadline, counted from now. `nil` removes it.
  static func set(seconds: Double?) {
    let usable = seconds.flatMap { $0.isFinite && $0 > 0 && $0 <= 31_536_000 ? $0 : nil }
    limit.withLock { $0 = usable.map { Limit(seconds: $0, end: .now + .seconds($0)) } }
  }

  /// The seconds left, at least 0; `nil` without a deadline.
  static var secondsLeft: Double? {
    limit.withLock { $0 }.map { max(0, ContinuousClock.now.duration(to: $0.end) / .seconds(1)) }
  }

  /// Waits until a descriptor is writable, and returns the number of bytes that may be written to it at once.
  ///
  /// - Throws: a failure if the deadline passes first.
  static func wait(for descriptor: Int32) throws(ResponseOutput.WriteFailure) -> Int {
    guard secondsLeft != nil, !isRegularFile(descriptor) else { return .max }
    guard try isWritable(descriptor) else { throw failure("the output took no more bytes") }
    return pieceWithoutBlocking
  }

  /// Waits until a non-blocking descriptor is writable again.
  static func waitAfterRefusal(of descriptor: Int32) throws(ResponseOutput.WriteFailure) {
    guard try isWritable(descriptor) else { throw failure("the output took no more bytes") }
  }

  /// Opens a file for writing. Waits until the deadline for a reader of a FIFO.
  ///
  /// - Returns: the descriptor, or a negative number for a failure with its reason in `errno`: `ETIMEDOUT` if the
  ///   deadline passed.
  static func open(_ path: String, _ flags: Int32) -> Int32 {
    guard secondsLeft != nil else { return uninterrupted { Glibc.open(path, flags, 0o666) } }
    while true {
      let descriptor = uninterrupted { Glibc.open(path, flags | O_NONBLOCK, 0o666) }
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        return descriptor
      }
      // ENXIO: the path is a FIFO that has no reader yet. Try again until the deadline.
      guard errno == ENXIO else { return descriptor }
      guard secondsLeft ?? 0 > 0 else {
        errno = ETIMEDOUT
        return -1
      }
      usleep(10_000)
    }
  }

  /// Returns the failure of an output that missed the deadline.
  static func failure(_ event: String) -> ResponseOutput.WriteFailure {
    let seconds = limit.withLock { $0?.seconds } ?? 0
    let text = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    return ResponseOutput.WriteFailure(
      description: """
        timeout/total_timeout: \(event) before the limit of \(text) s passed
          hint: have another program read the output, or raise -m
        """,
      isTimeout: true)
  }

  private static func isRegularFile(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// - Returns: false if the deadline passes first.
  private static func isWritable(_ descriptor: Int32) throws(ResponseOutput.WriteFailure) -> Bool {
    while true {
      var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      // Rounded up, so that less than a millisecond left does not cause a busy loop.
      let milliseconds = secondsLeft.map { Int32(min($0 * 1_000, 1e9).rounded(.up)) } ?? -1
      let count = poll(&watched, 1, milliseconds)
      if count < 0, errno == EINTR { continue }
      // The write reports an error of the descriptor.
      return count != 0
    }
  }
}
