// SPDX-License-Identifier: Apache-2.0

/// Where random bytes are from.
package protocol Obfs4Random: Sendable {
  /// `count` bytes.
  mutating func fill(_ count: Int) -> [UInt8]
}

/// The system's randomness.
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

/// The bytes of a seed, for tests and servers that repeat themselves: hours and runs do not change them.
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

/// Given answers, one for each draw, then another source's.
package struct Obfs4ScriptedRandom: Obfs4Random {
  private var answers: ArraySlice<[UInt8]>
  private var rest: Obfs4SeededRandom

  /// An answer of another length than is asked for is cut, or lengthened with zeros.
  package init(_ answers: [[UInt8]], then seed: UInt64 = 0) {
    self.answers = answers[...]
    rest = Obfs4SeededRandom(seed: seed)
  }

  package mutating func fill(_ count: Int) -> [UInt8] {
    guard let answer = answers.popFirst() else { return rest.fill(count) }
    return answer.prefix(count) + [UInt8](repeating: 0, count: max(0, count - answer.count))
  }
}

extension Obfs4Random {
  /// 64 bits, of eight bytes, the first the lowest.
  mutating func word() -> UInt64 { fill(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  /// Each number of the range with the same probability.
  package mutating func number(in range: ClosedRange<Int>) -> Int {
    let count = UInt64(range.count)
    let least = (0 &- count) % count
    var drawn = word()
    // Below `least`, the first numbers of the range would come once more than the others.
    while drawn < least { drawn = word() }
    return range.lowerBound + Int(drawn % count)
  }
}
