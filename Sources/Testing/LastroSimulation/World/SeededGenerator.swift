// SPDX-License-Identifier: Apache-2.0

/// A generator whose numbers depend on its seed alone (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// Returns a number below a bound, which is at least 1.
  mutating func next(below bound: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(1, bound))) }

  /// Returns a number from 0 up to, but not including, 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
