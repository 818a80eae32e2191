// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTunnels
import Testing

@Suite("obfs4: lengths, padding and delays")
struct Obfs4TrafficTests {
  let vectors: Obfs4Vectors

  init() throws { vectors = try Obfs4Vectors.read() }

  @Test("The tables of seeds are those of obfs4proxy")
  func tables() throws {
    for row in vectors.length_tables {
      let table = Obfs4LengthTable(seed: row.seed.bytes, in: row.from...row.to)
      #expect(table.values == row.values)
      let sum = table.weights.reduce(0, +)
      #expect(table.weights.count == row.probabilities.count)
      for (weight, probability) in zip(table.weights, row.probabilities) {
        #expect(abs(weight / sum - probability) < 1e-9)
      }
    }
    let lengths = vectors.length_tables[0]
    #expect(Obfs4LengthTable.lengths(ofSeed: lengths.seed.bytes).values == lengths.values)
    #expect(try Obfs4LengthTable.delays(ofSeed: lengths.seed.bytes).values == vectors.length_tables[1].values)
  }

  @Test("Numbers are drawn from a seed as in Go")
  func draws() {
    let row = vectors.go_random_over_drbg
    func numbers() -> Obfs4NumberStream { Obfs4NumberStream(seed: row.seed.bytes[...]) }
    var stream = numbers()
    #expect(row.int63.map { _ in stream.positive() } == row.int63)
    stream = numbers()
    #expect((1...6).map { stream.number(below: $0) } == row.intn_1_to_6)
    stream = numbers()
    let permutation = stream.permutation(of: 10)
    #expect(permutation == row.perm_10)
    stream = numbers()
    #expect(row.float64.map { _ in stream.fraction() } == row.float64)
    stream = numbers()
    let delay = stream.number(below: 60)
    #expect(delay == row.server_close_delay_intn_60)
    // Almost every second draw exceeds 2^31 − 1 − 2^31 mod (2^30 + 1), and is repeated.
    let drawn = (0..<200).map { _ in stream.number(below: 1 << 30 + 1) }
    #expect(drawn.allSatisfy { (0...1 << 30).contains($0) })
    let beyond = [0, -1, .max].map { stream.number(below: $0) }
    #expect(beyond[0] == 0 && beyond[1] == 0 && beyond[2] >= 0)
  }

  @Test("A burst's padding is that of obfs4proxy, including its 21 excess bytes")
  func padding() {
    for row in vectors.burst_padding.cases {
      let paddings = Obfs4Traffic.padding(tail: row.tail, target: row.target)
      #expect(paddings == row.padding_of_each_frame, "\(row.tail) to \(row.target)")
      let tail = paddings.reduce(row.tail) { $0 + 21 + $1 } % 1448
      #expect(tail == row.tail_afterwards % 1448)
    }
    for tail in [0, 1, 20, 21, 22, 26, 700, 1425, 1426, 1427, 1428, 1447] {
      for target in 0...1448 {
        let paddings = Obfs4Traffic.padding(tail: tail, target: target)
        #expect(paddings.allSatisfy { (0...1427).contains($0) } && paddings.count <= 2)
      }
    }
  }

  @Test("Draws have the table's probabilities")
  func drawing() {
    let table = Obfs4LengthTable(seed: vectors.length_tables[0].seed.bytes, in: 0...1448)
    let random = RandomSource.seeded(7)
    var counts: [Int: Int] = [:]
    let draws = 40_000
    for _ in 0..<draws { counts[table.draw(using: random), default: 0] += 1 }
    #expect(Set(counts.keys) == Set(table.values))
    let sum = table.weights.reduce(0, +)
    for (value, weight) in zip(table.values, table.weights) {
      let expected = Double(draws) * weight / sum
      // The tolerance is five standard deviations. The seed is fixed.
      #expect(abs(Double(counts[value] ?? 0) - expected) < 5 * expected.squareRoot() + 1)
    }
  }

  @Test("The extreme random numbers draw values of the table")
  func drawnEnds() {
    let table = Obfs4LengthTable(seed: vectors.length_tables[0].seed.bytes, in: 0...1448)
    let least = RandomSource.scripted([[UInt8](repeating: 0, count: 8)])
    let most = RandomSource.scripted([[UInt8](repeating: 255, count: 8)])
    #expect(table.draw(using: least) == table.values.first)
    #expect(table.draw(using: most) == table.values.last)
  }

  @Test("Without timing a burst is one write that ends at a length of the table, or 21 bytes beyond")
  func off() throws {
    let seed = vectors.length_tables[0].seed.bytes
    let targets = Set(Obfs4LengthTable.lengths(ofSeed: seed).values.map { $0 % 1448 })
    for count in [1, 2, 1400, 1427, 1428, 5000, 32 << 10] {
      let plan = try plan(count, mode: .immediate, seed: seed)
      #expect(plan.map(\.delay) == [0])
      let tail = (plan.first?.bytes.count ?? 0) % 1448
      #expect(targets.contains(tail) || targets.contains((tail + 1448 - 21) % 1448))
      try expectPayload(plan, count)
    }
    #expect(try plan((32 << 10) + 1, mode: .immediate, seed: seed).count == 2)
    #expect(try plan(0, mode: .immediate, seed: seed).isEmpty)
  }

  @Test("With delays the same bytes are written in pieces of at most 1448, each with a delay of the table")
  func delays() throws {
    let seed = vectors.length_tables[0].seed.bytes
    let delays = Set(vectors.length_tables[1].values)
    for count in [1, 1428, 32 << 10, 100_000] {
      let plan = try plan(count, mode: .paused, seed: seed)
      #expect(plan.allSatisfy { (1...1448).contains($0.bytes.count) && delays.contains($0.delay) })
      try expectPayload(plan, count)
    }
  }

  @Test("With lengths each piece has a length and a delay of the tables, and none is empty")
  func lengths() throws {
    for table in vectors.length_tables where table.to == 1448 && table.values.count > 1 {
      let lengths = Set(table.values)
      let delays = Set(try Obfs4LengthTable.delays(ofSeed: table.seed.bytes).values)
      for count in [1, 20, 1427, 1428, 40_000] {
        for seed in 0..<8 {
          let plan = try plan(count, mode: .paranoid, seed: table.seed.bytes, random: UInt64(seed))
          let isOfTables = plan.allSatisfy {
            !$0.bytes.isEmpty && lengths.contains($0.bytes.count) && delays.contains($0.delay)
          }
          #expect(isOfTables)
          try expectPayload(plan, count)
        }
      }
    }
  }

  @Test("A table with 0 only, or with a single length, neither hangs nor loses a byte")
  func hostileTables() throws {
    let single = try singleTables()
    #expect(single.keys.contains(0))
    for (length, seed) in single {
      for count in [1, 3000] {
        for mode in WispServer.Timing.allCases {
          let plan = try plan(count, mode: mode, seed: seed)
          #expect(plan.allSatisfy { !$0.bytes.isEmpty }, "\(length)")
          // This bound is well above the bytes that padding may add.
          #expect(plan.reduce(0) { $0 + $1.bytes.count } < count + 100 + 18 * 1500)
          try expectPayload(plan, count)
          if length == 0, mode == .paranoid { #expect(plan.dropLast().allSatisfy { $0.bytes.count == 1448 }) }
        }
      }
    }
  }

  /// Returns seeds whose tables have a single length: 0, and some other lengths, found by counting.
  private func singleTables() throws -> [Int: [UInt8]] {
    var found: [Int: [UInt8]] = [0: Self.seedOfZero, 5: Self.seedOfFive]
    for number in 0..<400 {
      let seed = [UInt8](try Obfs4Primitives.sha256([UInt8]("single/\(number)".utf8)).prefix(24))
      let values = Obfs4LengthTable.lengths(ofSeed: seed).values
      if values.count == 1 { found[values[0]] = seed }
    }
    #expect(Obfs4LengthTable.lengths(ofSeed: Self.seedOfZero).values == [0])
    #expect(Obfs4LengthTable.lengths(ofSeed: Self.seedOfFive).values == [5])
    return found
  }

  // Both seeds were found by trial: about one seed in 145,000 gives a table of one given length.
  private static let seedOfZero: [UInt8] = [66, 5] + [UInt8](repeating: 0, count: 22)
  private static let seedOfFive: [UInt8] = [193, 125] + [UInt8](repeating: 0, count: 22)

  @Test("A new seed gives new tables")
  func newSeed() throws {
    var traffic = try traffic(.paranoid, vectors.length_tables[0].seed.bytes, 1)
    _ = try traffic.burst([1])
    try traffic.use(seed: vectors.length_tables[3].seed.bytes)
    let plan = try traffic.burst([UInt8](repeating: 1, count: 10_000)[...])
    #expect(plan.allSatisfy { $0.bytes.count == vectors.length_tables[3].values[0] })
    let delays = try Obfs4LengthTable.delays(ofSeed: vectors.length_tables[3].seed.bytes).values
    #expect(plan.allSatisfy { delays.contains($0.delay) })
  }

  @Test("No burst is planned once the counter is exhausted", arguments: WispServer.Timing.allCases)
  func exhausted(mode: WispServer.Timing) throws {
    let writer = try Obfs4FrameWriter(keys: vectors.kdf.client_to_server.bytes[...], counter: .max)
    var traffic = try Obfs4Traffic(
      writer, mode: mode, seed: vectors.length_tables[0].seed.bytes, random: .seeded(1))
    for _ in 0..<3 {
      #expect(throws: Obfs4Failure.counterExhausted) {
        _ = try traffic.burst([UInt8](repeating: 1, count: 3000)[...])
      }
    }
  }

  private func traffic(_ mode: WispServer.Timing, _ seed: [UInt8], _ random: UInt64) throws -> Obfs4Traffic {
    let writer = try Obfs4FrameWriter(keys: vectors.kdf.client_to_server.bytes[...])
    return try Obfs4Traffic(writer, mode: mode, seed: seed, random: .seeded(random))
  }

  private func plan(
    _ count: Int, mode: WispServer.Timing, seed: [UInt8], random: UInt64 = 1
  ) throws -> [Obfs4Piece] {
    var traffic = try traffic(mode, seed, random)
    return try traffic.burst(Obfs4SessionTests.pattern(count)[...])
  }

  private func expectPayload(_ plan: [Obfs4Piece], _ count: Int) throws {
    var reader = try Obfs4FrameReader(keys: vectors.kdf.client_to_server.bytes[...], lengthOfNonsense: 16)
    var output: [UInt8] = []
    for piece in plan { try reader.receive(piece.bytes, into: &output) }
    #expect(output == Obfs4SessionTests.pattern(count))
    let isWithinFrame = reader.isWithinFrame
    #expect(!isWithinFrame)
  }
}
