// SPDX-License-Identifier: Apache-2.0

/// Ways to cut an input into pieces: whole, byte by byte, in two at a place that depends on the input, and at random.
enum Splits {
  static func of(_ input: ArraySlice<UInt8>) -> [[ArraySlice<UInt8>]] {
    var random = Random(seed: input)
    let middle = input.startIndex + random.next(input.count + 1)
    var pieces: [ArraySlice<UInt8>] = []
    var rest = input
    while !rest.isEmpty {
      let count = min(rest.count, 1 + random.next(random.next(4) == 0 ? 64 : 5))
      pieces.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return [
      [input], input.indices.map { input[$0...$0] }, [input[..<middle], input[middle...]].filter { !$0.isEmpty },
      pieces,
    ]
  }

  /// Returns the result that all ways to cut the input give, or a line with the first two that differ.
  static func agreed(_ input: ArraySlice<UInt8>, _ read: ([ArraySlice<UInt8>]) -> Text) -> Text {
    let ways = of(input)
    let first = read(ways[0])
    for way in ways.dropFirst() {
      let other = read(way)
      if other.bytes != first.bytes { return difference(first, other, way.map(\.count)) }
    }
    return first
  }

  static func difference(_ first: Text, _ other: Text, _ counts: [Int]) -> Text {
    var text = Text()
    text.raw("{\"split\":")
    text.list(counts) { $0.number(Int64($1)) }
    text.raw(",\"whole\":")
    text.string(first.bytes)
    text.raw(",\"pieces\":")
    text.string(other.bytes)
    text.raw("}")
    return text
  }
}

/// Numbers that depend on the input alone (xorshift64*, seeded with FNV-1a).
struct Random {
  private var state: UInt64

  init(seed: ArraySlice<UInt8>) {
    state = seed.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } | 1
  }

  mutating func next(_ bound: Int) -> Int {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return Int((state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
  }
}
