// SPDX-License-Identifier: Apache-2.0

/// What a request came to, for the driver to check.
public struct Answer: Sendable {
  /// Status code.
  public let status: Int
  /// Bytes of the body that came, or that were sent by an upload.
  public let bytes: Int

  /// Makes an answer.
  public init(status: Int, bytes: Int) {
    self.status = status
    self.bytes = bytes
  }

  /// The bytes, of an answer that is as it has to be: a wrong one is no measurement, however fast.
  func checked(size: Int?) throws(BenchFailure) -> Int {
    guard status / 100 == 2 else { throw .failed("status \(status)") }
    if let size, bytes != size { throw .failed("\(bytes) bytes in place of \(size)") }
    return bytes
  }
}
