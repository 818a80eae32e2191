// SPDX-License-Identifier: Apache-2.0

/// Numbers with probabilities, which both sides make of a seed: lengths or delays.
package struct Obfs4LengthTable: Sendable {
  package let values: [Int]
  /// Not normed: a value's probability is its weight divided by the sum.
  package let weights: [Double]

  /// Lengths of what is written, 0…1448, of a seed of 24 bytes; a shorter one is lengthened with zeros.
  package static func lengths(ofSeed seed: [UInt8]) -> Obfs4LengthTable { Obfs4LengthTable(seed: seed, in: 0...1448) }

  /// Delays in units of 100 µs, 0…100, of the seed of the lengths.
  package static func delays(ofSeed seed: [UInt8]) throws(Obfs4Failure) -> Obfs4LengthTable {
    throw .cryptoUnavailable
  }

  package init(seed: [UInt8], in range: ClosedRange<Int>) {
    values = []
    weights = []
  }

  /// Draws a value.
  package func draw(using random: inout some Obfs4Random) -> Int { 0 }
}
