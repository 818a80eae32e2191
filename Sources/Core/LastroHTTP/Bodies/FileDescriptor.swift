// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Glibc
package import Lastro
internal import LastroSupport

/// An open file, which is closed when the object is released.
package final class FileDescriptor {
  private let raw: Int32
  private let path: String

  package init(reading path: String) throws(TransportError) {
    raw = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
    self.path = path
    guard raw >= 0 else {
      throw .refused(
        .invalidBody, "cannot open the body file \(path): \(String(cString: strerror(errno)))",
        hint: "check that it exists and may be read")
    }
  }

  deinit { if raw >= 0 { close(raw) } }

  /// Reads the next bytes; returns `nil` at the end of the file.
  package func read(upTo count: Int) throws(TransportError) -> Data? {
    var data = Data(count: count)
    let taken = data.withUnsafeMutableBytes { buffer in
      uninterrupted { Glibc.read(raw, buffer.baseAddress, count) }
    }
    guard taken >= 0 else {
      throw .refused(
        .invalidBody, "reading the body file \(path) failed: \(String(cString: strerror(errno)))",
        hint: "check that it is a file, and stays one while it is sent")
    }
    return taken == 0 ? nil : data.prefix(taken)
  }
}
