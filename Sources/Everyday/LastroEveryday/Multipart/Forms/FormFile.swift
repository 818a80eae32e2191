// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Lastro
internal import LastroSupport

/// An open file of a form. Only the bytes that the file had when the form was made are read. The file is closed with
/// the object.
final class FormFile {
  private let descriptor: Int32
  private let path: String
  private let length: Int64
  private var left: Int64

  /// - Throws: code `invalid_body` if the file cannot be opened, or is no longer a regular file.
  init(_ path: String, length: Int64) throws(TransportError) {
    // The file may have been replaced by a pipe without a writer, and opening that must not block.
    descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    self.path = path
    self.length = length
    left = length
    guard descriptor >= 0 else { throw Self.failure("cannot be opened: \(String(cString: strerror(errno)))", path) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Self.failure("is not a regular file any more", path)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Returns the next piece; `nil` at the length that the file had when the form was made.
  func next() throws(TransportError) -> Data? {
    guard left > 0 else { return nil }
    let wanted = Int(min(left, Int64(FormSending.chunkBytes)))
    var data = Data(count: wanted)
    var count = 0
    repeat {
      count = data.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, wanted) }
    } while count < 0 && errno == EINTR
    guard count >= 0 else { throw Self.failure("cannot be read: \(String(cString: strerror(errno)))", path) }
    guard count > 0 else {
      throw Self.failure("has \(length - left) bytes, and had \(length) when the form was made", path)
    }
    left -= Int64(count)
    return count == wanted ? data : Data(data.prefix(count))
  }

  private static func failure(_ message: String, _ path: String) -> TransportError {
    .refused(
      .invalidBody, "the form's file \(path.escapedForDisplay) \(message)",
      hint: "do not move or change a file while it is sent")
  }
}
