// SPDX-License-Identifier: Apache-2.0

extension ResponseReader {
  /// Reads on to the head of the final answer, over interim ones. `nil`: the bytes are used, and it is not whole yet.
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

  /// Reads on in the body, once the head was given, and appends what lies in the bytes to `body`.
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
