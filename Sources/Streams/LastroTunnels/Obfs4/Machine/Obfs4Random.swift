// SPDX-License-Identifier: Apache-2.0

/// A source of random bytes.
package protocol Obfs4Random: Sendable {
  /// Returns `count` random bytes.
  mutating func fill(_ count: Int) -> [UInt8]
}

/// The system's random number generator.
package struct Obfs4SystemRandom: Obfs4Random {
  private var system = SystemRandomNumberGenerator()

  package init() {}

  package mutating func fill(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      while filled < count {
        var word: UInt64 = system.next()
        for _ in 0..<min(8, count - filled) {
          bytes.initializeElement(at: filled, to: UInt8(truncatingIfNeeded: word))
          word >>= 8
          filled += 1
        }
      }
    }
  }
}

/// A reproducible source of bytes from a seed, for tests and for servers with repeatable runs. It does not depend on
/// the time.
package struct Obfs4SeededRandom: Obfs4Random {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func fill(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      // splitmix64, whose outputs are even enough for tests.
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return UInt8(truncatingIfNeeded: z >> 24)
    }
  }
}

extension Obfs4Random {
  /// Returns 64 random bits from eight bytes in little-endian order.
  mutating func word() -> UInt64 { fill(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  /// Returns a number of the range, all with equal probability.
  package mutating func number(in range: ClosedRange<Int>) -> Int {
    let count = UInt64(range.count)
    let least = (0 &- count) % count
    var drawn = word()
    // Values below `least` would make the first numbers of the range more likely.
    while drawn < least { drawn = word() }
    return range.lowerBound + Int(drawn % count)
  }
}
