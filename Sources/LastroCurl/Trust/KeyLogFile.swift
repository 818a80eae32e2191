// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#endif

/// The file to which secrets of connections are appended, in the format of `SSLKEYLOGFILE`.
///
/// A thread of the file's own writes the lines, in the order in which they were appended: a file system may block a
/// write for as long as it likes, and the loop's thread serves everybody.
final class KeyLogFile: Sendable {
  private let writer: KeyLogWriter

  /// Opens the file, or creates it. The call may block.
  convenience init(path: String) throws(TransportError) {
    // Without waiting: a pipe without a reader would keep the thread.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = path.utf8.contains(0) ? -1 : open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw TransportError(
        stage: .tls, code: .invalidTLSConfiguration,
        message: "the key log file \(path) cannot be written: \(SystemError.text(errno))",
        hint: "name a file in a directory that this process may write to")
    }
    self.init(descriptor: descriptor)
  }

  /// Owns the descriptor, and closes it once every line was written.
  init(descriptor: Int32) {
    KeyLogWriter.registerExit()
    writer = KeyLogWriter(descriptor: descriptor)
  }

  deinit { writer.close() }

  /// Has a line written. The call does not block. A line that cannot be written is lost: the file is for debugging.
  func append(_ line: UnsafePointer<CChar>) {
    writer.append(Array(String(cString: line).utf8) + [UInt8(ascii: "\n")])
  }
}
