// SPDX-License-Identifier: Apache-2.0

@testable import Lastro

/// Choices out of a seed: the same seed, the same choices.
struct Dice: Sendable {
  let random: RandomSource

  init(_ seed: UInt64) { random = .seeded(seed &* 0x9E37_79B9_7F4A_7C15 &+ 1) }

  func int(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(random.next() % UInt64(range.count))
  }

  func chance(_ percent: Int) -> Bool { int(1...100) <= percent }

  func pick<T>(_ values: [T]) -> T { values[int(0...values.count - 1)] }

  func seconds(_ range: ClosedRange<Double>) -> Double {
    range.lowerBound + random.unit() * (range.upperBound - range.lowerBound)
  }

  /// To the millisecond.
  func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(int(range)) }

  /// Dice of its own for one part, so that what another part draws does not move it.
  func part(_ number: Int) -> Dice { Dice(random.next() ^ UInt64(truncatingIfNeeded: number)) }
}
