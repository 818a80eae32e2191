// SPDX-License-Identifier: Apache-2.0

/// SipHash-2-4 over whole words. A copy can be finished while the original continues.
package struct Obfs4SipHash: Sendable {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64
  private var words: UInt64 = 0

  /// Starts a hash with a key of 16 bytes. Missing bytes are taken as zero.
  package init(key: ArraySlice<UInt8>) {
    let low = Self.word(key.prefix(8))
    let high = Self.word(key.dropFirst(8).prefix(8))
    v0 = low ^ 0x736f_6d65_7073_6575
    v1 = high ^ 0x646f_7261_6e64_6f6d
    v2 = low ^ 0x6c79_6765_6e65_7261
    v3 = high ^ 0x7465_6462_7974_6573
  }

  /// Returns the word of up to eight bytes, in little-endian order.
  package static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  package mutating func absorb(_ word: UInt64) {
    compress(word)
    words &+= 1
  }

  /// Returns the hash of the absorbed words, followed by up to seven bytes.
  package consuming func finished(with tail: ArraySlice<UInt8> = []) -> UInt64 {
    let length = words &* 8 &+ UInt64(tail.count)
    compress(Self.word(tail) | length << 56)
    v2 ^= 0xff
    for _ in 0..<4 { round() }
    return v0 ^ v1 ^ v2 ^ v3
  }

  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  private mutating func round() {
    v0 &+= v1
    v1 = Self.rotated(v1, 13) ^ v0
    v0 = Self.rotated(v0, 32)
    v2 &+= v3
    v3 = Self.rotated(v3, 16) ^ v2
    v0 &+= v3
    v3 = Self.rotated(v3, 21) ^ v0
    v2 &+= v1
    v1 = Self.rotated(v1, 17) ^ v2
    v2 = Self.rotated(v2, 32)
  }

  private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value &<< count | value &>> (64 &- count) }
}

/// The stream of numbers that a seed of 24 bytes produces. It supplies the masks of lengths and the contents of tables.
///
/// The stream uses one SipHash that is never reset. The published specification resets it, but no implementation does.
package struct Obfs4NumberStream: Sendable {
  private var hash: Obfs4SipHash
  private var last: UInt64

  package init(seed: ArraySlice<UInt8>) {
    hash = Obfs4SipHash(key: seed.prefix(16))
    last = Obfs4SipHash.word(seed.dropFirst(16).prefix(8))
  }

  /// Returns the next block of eight bytes as a big-endian number.
  package mutating func next() -> UInt64 {
    hash.absorb(last)
    last = hash.finished()
    return last.byteSwapped
  }

  /// Returns the mask for the next frame's length.
  package mutating func mask() -> UInt16 { UInt16(truncatingIfNeeded: next() >> 48) }

  /// Returns a number of 63 bits.
  package mutating func positive() -> UInt64 { next() & (1 << 63 - 1) }

  /// Returns a number of 0…(count − 1), all with equal probability. The count is clamped to 1…(2^31 − 1).
  package mutating func number(below count: Int) -> Int {
    let count = UInt64(min(max(1, count), 1 << 31 - 1))
    if count & (count - 1) == 0 { return Int(positive() >> 32 & (count - 1)) }
    let most = (1 << 31 - 1) - (1 << 31) % count
    var drawn = positive() >> 32
    while drawn > most { drawn = positive() >> 32 }
    return Int(drawn % count)
  }

  /// Returns a number from 0 up to, but not including, 1.
  package mutating func fraction() -> Double {
    var drawn = Double(positive()) / 0x1p63
    // Values close to 2^63 are rounded up, which makes the fraction 1.
    while drawn == 1 { drawn = Double(positive()) / 0x1p63 }
    return drawn
  }

  /// Returns the numbers 0…(count − 1) in random order.
  package mutating func permutation(of count: Int) -> [Int] {
    var order = [Int](repeating: 0, count: count)
    for place in 0..<count {
      let other = number(below: place + 1)
      order[place] = order[other]
      order[other] = place
    }
    return order
  }
}
