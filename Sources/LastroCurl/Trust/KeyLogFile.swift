// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#endif

/// The file to which secrets of connections are appended, in the format of `SSLKEYLOGFILE`.
final class KeyLogFile: Sendable {
  private let descriptor: Int32

  init(path: String) throws(TransportError) {
    // Without waiting: a pipe without a reader would hold up the loop.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    descriptor = path.utf8.contains(0) ? -1 : open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw TransportError(
        stage: .tls, code: .invalidTLSConfiguration,
        message: "the key log file \(path) cannot be written: \(SystemError.text(errno))",
        hint: "name a file in a directory that this process may write to")
    }
  }

  deinit { close(descriptor) }

  /// One write, so that lines of several processes do not mix. What cannot be written is lost: it is for debugging.
  func append(_ line: UnsafePointer<CChar>) {
    let text = Array(String(cString: line).utf8) + [UInt8(ascii: "\n")]
    _ = write(descriptor, text, text.count)
  }
}
