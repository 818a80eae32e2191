// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A distribution of lengths or delays, which both sides derive from a seed.
package struct Obfs4LengthTable: Sendable {
  /// The values that can be drawn; never empty.
  package let values: [Int]
  /// The weights of the values. They are not normalized: a value's probability is its weight divided by the sum.
  package let weights: [Double]

  /// Returns the distribution of write lengths, 0…1448, for a seed of 24 bytes. A shorter seed is padded with zeros.
  package static func lengths(ofSeed seed: [UInt8]) -> Obfs4LengthTable {
    Obfs4LengthTable(seed: seed, in: 0...Obfs4Frame.maximumLength)
  }

  /// Returns the distribution of delays, 0…100 in units of 100 µs, derived from the seed of the lengths.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package static func delays(ofSeed seed: [UInt8]) throws(Obfs4Failure) -> Obfs4LengthTable {
    let other = try Obfs4Primitives.sha256(seed).prefix(Obfs4Frame.seedLength)
    return Obfs4LengthTable(seed: [UInt8](other), in: 0...100)
  }

  package init(seed: [UInt8], in range: ClosedRange<Int>) {
    var numbers = Obfs4NumberStream(seed: seed[...])
    let order = numbers.permutation(of: range.count)
    let count = numbers.number(below: min(100, range.count)) + 1
    values = order.prefix(count).map { range.lowerBound + $0 }
    weights = (0..<count).map { _ in numbers.fraction() }
  }

  private init(_ rows: [(value: Int, weight: Double)]) {
    values = rows.map(\.value)
    weights = rows.map(\.weight)
  }

  /// Returns the table without the value 0, which is the same as drawing until the value is not 0. If 0 is the only
  /// value, the longest length replaces it: drawing would never end.
  func withoutZero() -> Obfs4LengthTable {
    let rows = zip(values, weights).filter { $0.0 != 0 }.map { (value: $0.0, weight: $0.1) }
    return Obfs4LengthTable(rows.isEmpty ? [(Obfs4Frame.maximumLength, 1)] : rows)
  }

  /// Draws a value.
  package func draw(using random: RandomSource) -> Int {
    var rest = random.unit() * weights.reduce(0, +)
    for (value, weight) in zip(values, weights) {
      guard rest >= weight else { return value }
      rest -= weight
    }
    // Rounding may leave a remainder.
    return values[values.count - 1]
  }
}
