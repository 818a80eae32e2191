// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A source of randomness. Do not use it for secrets unless it is ``system``.
public struct RandomSource: Sendable {
  /// Returns the next 64 random bits.
  public let next: @Sendable () -> UInt64

  /// Makes a source.
  public init(next: @escaping @Sendable () -> UInt64) { self.next = next }

  /// The system's generator.
  public static let system = RandomSource {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  /// Returns a source whose sequence is the same for the same seed (SplitMix64), for tests.
  public static func seeded(_ seed: UInt64) -> RandomSource {
    let state = Counter(seed)
    return RandomSource {
      var bits = state.advance(by: 0x9E37_79B9_7F4A_7C15)
      bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
      return bits ^ (bits >> 31)
    }
  }

  /// Returns a source that always draws the same fraction of a range, for tests: with 0 a wait has no random addition,
  /// with 0.5 it has half of the possible one.
  ///
  /// ```swift
  /// configuration.randomSource = .constant(0)
  /// ```
  ///
  /// Identifiers that are made of its numbers, such as idempotency keys, are all equal.
  ///
  /// - Parameter fraction: the fraction, from 0 up to, but not including, 1. A value outside is replaced by the nearest
  ///   one within.
  public static func constant(_ fraction: Double) -> RandomSource {
    // A value that is not a number counts as 0.
    let scaled = fraction > 0 ? min(fraction, 1) * 0x1p53 : 0
    let bits = min(UInt64(scaled), (1 << 53) - 1) << 11
    return RandomSource { bits }
  }

  /// Returns a random number from 0 up to, but not including, 1.
  package func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

  private final class Counter: Sendable {
    private let value: Atomic<UInt64>

    init(_ seed: UInt64) { value = Atomic(seed) }

    func advance(by step: UInt64) -> UInt64 { value.wrappingAdd(step, ordering: .relaxed).newValue }
  }
}

extension RandomSource {
  /// Returns a random UUID (version 4, RFC 9562 §5.4), in lower case.
  func uuid() -> String {
    let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    let halves = [high, low].map { half in
      let text = String(half, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    let digits = Array(halves.joined())
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }
}
