// SPDX-License-Identifier: Apache-2.0

/// Numbers of eight bytes in the form in which they are stored, the most significant byte first.
enum WordBytes {
  static func encode(_ words: UInt64...) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
  }

  /// Returns the numbers; `nil` unless there are exactly as many bytes as they have.
  static func decode(_ bytes: some Collection<UInt8>, count: Int) -> [UInt64]? {
    guard bytes.count == count * 8 else { return nil }
    var words = Array(repeating: UInt64(0), count: count)
    for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
    return words
  }
}
