// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Responses with bytes changed at random")
struct HTTP2MutationTests {
  /// A generator that yields the same numbers in each run (xorshift).
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }

  private static let input: [UInt8] = [
    WireFrame.settings([(4, 100_000), (3, 50)]), .settingsAck, .head(103, [("link", "</a>")], on: 1),
    .head(200, [("content-length", "6")], on: 1), .data("foo".utf8, on: 1), .data("bar".utf8, on: 1, ends: true),
    .ping(), .head(200, [("x", "y")], on: 3), .data("x".utf8, on: 3), .headers([("x-sum", "1")], on: 3, ends: true),
    .reset(7, on: 5), .head(413, on: 7), .data("no".utf8, on: 7, ends: true), .reset(0, on: 7),
    .windowUpdate(1_000, on: 9), .head(200, on: 9, ends: true), .windowUpdate(1_000, on: 0), .goAway(last: 11),
    .head(204, on: 11, ends: true),
  ].flatMap(\.bytes)

  /// Changes, removes, duplicates and inserts bytes.
  private func mutate(_ bytes: [UInt8], _ generator: inout Generator) -> [UInt8] {
    var result = bytes
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      let index = Int.random(in: 0..<result.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: result[index] = UInt8.random(in: 0...255, using: &generator)
      case 1: result[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 2: result.remove(at: index)
      case 3: result.insert(UInt8.random(in: 0...255, using: &generator), at: index)
      default:
        let end = min(result.count, index + Int.random(in: 1...40, using: &generator))
        result.insert(contentsOf: Array(result[index..<end]), at: index)
      }
    }
    return result
  }

  @Test("Every request ends exactly once, whatever the bytes and however they are split", arguments: 0..<16)
  func everyEnd(seed: UInt64) throws {
    var generator = Generator(state: (seed + 1) &* 0x9E37_79B9_7F4A_7C15)
    for _ in 0..<150 {
      let input = mutate(Self.input, &generator)
      let lab = try SessionLab()
      var streams: [HTTP2Stream] = []
      for index in 0..<7 { streams.append(index % 2 == 0 ? try lab.open() : try lab.upload(200_000 * (index % 3))) }
      var rest = input[...]
      while !rest.isEmpty {
        let count = min(rest.count, Int.random(in: 1...200, using: &generator))
        lab.receive(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      let open = streams.count { lab.session.streams.contains($0) }
      #expect(open == lab.session.streams.count)
      #expect(streams.count { lab.ending($0) != nil } == streams.count - open)
      lab.session.connectionEnded()
      lab.drain([])
      #expect(streams.allSatisfy { lab.ending($0) != nil })
      #expect(lab.session.wantsClose && lab.session.unreadBytes == 0)
    }
  }
}
