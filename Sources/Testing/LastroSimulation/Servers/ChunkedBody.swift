// SPDX-License-Identifier: Apache-2.0

/// The body of a request in chunks (RFC 9112 §7.1), without its trailers.
struct ChunkedBody {
  /// The decoded bytes.
  private(set) var bytes: [UInt8] = []
  private var isInTrailers = false

  /// Reads and removes what has arrived.
  ///
  /// - Returns: whether the body is complete; `nil` if it is malformed.
  mutating func read(_ received: inout [UInt8]) -> Bool? {
    while let end = received.firstIndex(of: 10) {
      let line = String(decoding: received[..<end].filter { $0 != 13 }, as: UTF8.self)
      if isInTrailers {
        received.removeFirst(end + 1)
        if line.isEmpty { return true }
        continue
      }
      guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else { return nil }
      if size == 0 {
        received.removeFirst(end + 1)
        isInTrailers = true
        continue
      }
      // The chunk and the end of its line.
      guard received.count >= end + 1 + size + 2 else { return false }
      bytes += received[(end + 1)..<(end + 1 + size)]
      received.removeFirst(end + 1 + size + 2)
    }
    return false
  }
}
