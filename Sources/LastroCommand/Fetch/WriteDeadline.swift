// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport

/// The time by which the reader of an output has to take what is written: `-m` of the command.
///
/// Without it, a pipe that is not read or a FIFO that is not opened blocks the program for ever.
enum WriteDeadline {
  private struct Limit {
    var seconds: Double
    var end: ContinuousClock.Instant
  }

  private static let limit = Lock<Limit?>(nil)
  /// The number of bytes that a pipe takes without blocking once `poll` reports room (`PIPE_BUF`).
  private static let pieceWithoutBlocking = 4096

  /// Sets the deadline, from now on. `nil` removes it.
  static func set(seconds: Double?) {
    let usable = seconds.flatMap { $0.isFinite && $0 > 0 && $0 <= 31_536_000 ? $0 : nil }
    limit.withLock { $0 = usable.map { Limit(seconds: $0, end: .now + .seconds($0)) } }
  }

  /// The seconds that are left, at least 0; `nil` without a deadline.
  static var secondsLeft: Double? {
    limit.withLock { $0 }.map { max(0, ContinuousClock.now.duration(to: $0.end) / .seconds(1)) }
  }

  /// Returns the number of bytes that may be written to a descriptor at once, when it takes any.
  ///
  /// - Throws: a failure when the deadline passes before.
  static func wait(for descriptor: Int32) throws(BodySink.WriteFailure) -> Int {
    guard secondsLeft != nil, !isRegularFile(descriptor) else { return .max }
    guard try isWritable(descriptor) else { throw failure("the output took no more bytes") }
    return pieceWithoutBlocking
  }

  /// Waits until a descriptor that does not block takes more.
  static func waitAfterRefusal(of descriptor: Int32) throws(BodySink.WriteFailure) {
    guard try isWritable(descriptor) else { throw failure("the output took no more bytes") }
  }

  /// Opens a file for writing. A FIFO without a reader is waited for until the deadline.
  ///
  /// - Returns: a negative number for a failure, and `errno` says why: `ETIMEDOUT` when the deadline passed.
  static func open(_ path: String, _ flags: Int32) -> Int32 {
    guard secondsLeft != nil else { return Glibc.open(path, flags, 0o666) }
    while true {
      let descriptor = Glibc.open(path, flags | O_NONBLOCK, 0o666)
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        return descriptor
      }
      // Of a FIFO: it has no reader yet.
      guard errno == ENXIO else { return descriptor }
      guard secondsLeft ?? 0 > 0 else {
        errno = ETIMEDOUT
        return -1
      }
      usleep(10_000)
    }
  }

  /// The failure of an output that did not keep the deadline.
  static func failure(_ event: String) -> BodySink.WriteFailure {
    let seconds = limit.withLock { $0?.seconds } ?? 0
    let text = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    return BodySink.WriteFailure(
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

  /// - Returns: false when the deadline passes before.
  private static func isWritable(_ descriptor: Int32) throws(BodySink.WriteFailure) -> Bool {
    while true {
      var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      // Rounded up: a rest of less than a millisecond must not make it spin.
      let milliseconds = secondsLeft.map { Int32(min($0 * 1_000, 1e9).rounded(.up)) } ?? -1
      let count = poll(&watched, 1, milliseconds)
      if count < 0, errno == EINTR { continue }
      // An error of the descriptor is reported by the write.
      return count != 0
    }
  }
}
