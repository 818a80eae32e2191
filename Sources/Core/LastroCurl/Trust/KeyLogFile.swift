// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport

/// The file that TLS secrets are appended to, in the format of `SSLKEYLOGFILE`.
///
/// A separate thread writes the lines in the order in which they were appended: a file system may block a write for any
/// length of time, and the loop's thread serves all connections.
final class KeyLogFile: Sendable {
  private let writer: KeyLogWriter

  /// Opens or creates the file. The call may block.
  convenience init(path: String) throws(TransportError) {
    // Open without waiting: a pipe without a reader would block the thread.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = path.utf8.contains(0) ? -1 : uninterrupted { open(path, flags, 0o600) }
    guard descriptor >= 0 else {
      throw TransportError(
        stage: .tls, code: .invalidTLSConfiguration,
        message: "the key log file \(path) cannot be written: \(SystemError.text(errno))",
        hint: "name a file in a directory that this process may write to")
    }
    self.init(descriptor: descriptor)
  }

  /// Creates a file that owns the descriptor, and closes it once every line has been written.
  init(descriptor: Int32) {
    KeyLogWriter.registerExit()
    writer = KeyLogWriter(descriptor: descriptor)
  }

  deinit { writer.close() }

  /// Queues a line. The call does not block. A line that cannot be written is lost: the file is for debugging.
  func append(_ line: UnsafePointer<CChar>) {
    writer.append(Array(String(cString: line).utf8) + [UInt8(ascii: "\n")])
  }
}
