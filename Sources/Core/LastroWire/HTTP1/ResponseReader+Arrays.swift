// SPDX-License-Identifier: Apache-2.0

extension ResponseReader {
  /// Reads up to the head of the final response, and skips interim ones. Returns `nil` if the head is still incomplete.
  package mutating func head(
    in bytes: [UInt8], at position: inout Int
  ) throws(HeadViolation) -> ResponseHead? {
    try bytes.withBytes { bytes throws(HeadViolation) in
      while true {
        switch try next(in: bytes, at: &position) {
        case .head(let head): return head
        case .interim: break
        case .needsMore, .body, .end: return nil
        }
      }
    }
  }

  /// Reads the body after the head, and appends its bytes to `body`.
  package mutating func collect(
    _ bytes: [UInt8], at position: inout Int, into body: inout [UInt8]
  ) throws(HeadViolation) {
    try bytes.withBytes { bytes throws(HeadViolation) in
      while case .body(let count) = try next(in: bytes, at: &position) {
        body += bytes[position..<position + count]
        take(count)
        position += count
      }
    }
  }
}
