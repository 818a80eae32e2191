// SPDX-License-Identifier: Apache-2.0

/// The result of a request, which the driver checks.
public struct Answer: Sendable {
  /// The status code.
  public let status: Int
  /// The number of body bytes received, or sent in an upload.
  public let bytes: Int

  /// Makes a result.
  public init(status: Int, bytes: Int) {
    self.status = status
    self.bytes = bytes
  }

  /// Returns the number of bytes if the response is as expected. A wrong response must not count as a measurement.
  func checked(size: Int?) throws(BenchFailure) -> Int {
    guard status / 100 == 2 else { throw .failed("status \(status)") }
    if let size, bytes != size { throw .failed("\(bytes) bytes in place of \(size)") }
    return bytes
  }
}
