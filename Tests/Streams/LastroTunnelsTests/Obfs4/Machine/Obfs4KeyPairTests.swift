// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTunnels
import Testing

@Suite("obfs4: keys and their apparent randomness")
struct Obfs4KeyPairTests {
  @Test("Of 1500 seeded keys half have a representative, and indices, top bits and choices are balanced")
  func statistics() throws {
    let random = RandomSource.seeded(2022)
    var made = 0
    var indices = [Int](repeating: 0, count: 8)
    var topBits = [Int](repeating: 0, count: 4)
    var ones = [Int](repeating: 0, count: 256)
    var representatives: Set<[UInt8]> = []
    for _ in 0..<1500 {
      let drawn = random.bytes(33)
      guard let pair = try Obfs4KeyPair(secret: [UInt8](drawn.prefix(32)), tweak: drawn[32]) else { continue }
      made += 1
      indices[Int(drawn[0] & 7)] += 1
      topBits[Int(pair.representative[31] >> 6)] += 1
      for bit in 0..<256 where pair.representative[bit / 8] >> (bit % 8) & 1 == 1 { ones[bit] += 1 }
      representatives.insert(pair.representative)
      #expect(try Obfs4Primitives.point(ofRepresentative: pair.representative) == pair.publicKey)
    }
    // The ranges are about five standard deviations wide in each direction.
    #expect((650...850).contains(made))
    #expect(representatives.count == made)
    #expect(indices.allSatisfy { (45...145).contains($0) }, "\(indices)")
    #expect(topBits.allSatisfy { (125...250).contains($0) }, "\(topBits)")
    #expect(ones.allSatisfy { abs($0 - made / 2) < 75 })
  }

  @Test("A key is drawn again until it has a representative, with 33 new bytes each time")
  func redraws() throws {
    let vectors = try Obfs4Vectors.read()
    let keys = vectors.dirty_keys_montgomery.keys
    let without = try #require(keys.first { $0.representative == nil })
    let with = try #require(keys.first { $0.representative != nil })
    let random = RandomSource.scripted([
      without.secret.bytes + [without.tweak], without.secret.bytes + [without.tweak], with.secret.bytes + [with.tweak],
    ])
    let pair = try Obfs4KeyPair.generate(using: random)
    #expect(pair.secret == with.secret.bytes)
    #expect(pair.publicKey == with.dirty_public.bytes)
    #expect(pair.representative == with.representative?.bytes)
  }

  @Test("The tweak's lowest and two highest bits matter, and the others do not")
  func tweaks() throws {
    let key = try #require(
      try Obfs4Vectors.read().dirty_keys_montgomery.keys.first { $0.representative != nil })
    let found = try (0...255).map { try Obfs4KeyPair(secret: key.secret.bytes, tweak: $0)?.representative }
    #expect(Set(found).count == 8)
    for tweak in 0...255 { #expect(found[tweak] == found[tweak & 0xc1]) }
  }

  @Test("Numbers of a range are uniform and include its ends")
  func numbers() {
    let random = RandomSource.seeded(5)
    var counts = [Int](repeating: 0, count: 7)
    for _ in 0..<7000 { counts[random.number(in: 10...16) - 10] += 1 }
    #expect(counts.allSatisfy { (850...1150).contains($0) })
    // A draw below 2^64 mod 7 = 2 is rejected and repeated.
    let scripted = RandomSource.scripted([[0], [1], [2]])
    #expect(scripted.number(in: 10...16) == 12)
  }

  @Test("The system's generator provides any number of bytes", arguments: [0, 1, 7, 8, 9, 8128])
  func systemRandom(count: Int) {
    let random = RandomSource.system
    let one = random.bytes(count)
    let other = random.bytes(count)
    #expect(one.count == count && other.count == count)
    if count >= 7 { #expect(one != other) }
  }
}
