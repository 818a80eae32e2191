// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// Buffers of large bodies are reused. Bytes that a caller keeps must not change.
@Suite("Collected bodies", .timeLimit(.minutes(15)))
struct CollectedBodyTests {
  private static func body(
    _ content: Data, pieces: Int, announced: Int? = nil, store: BodyBlockStore
  ) throws -> Data {
    var body = CollectedBody(store: store)
    if let announced {
      let isReserved = body.reserve(announced)
      try #require(isReserved)
    }
    var rest = content
    while !rest.isEmpty {
      let piece = Data(rest.prefix(pieces))
      let isTaken = piece.withUnsafeBytes { body.append($0) }
      try #require(isTaken)
      rest = rest.dropFirst(pieces)
    }
    #expect(body.count == content.count)
    return body.take()
  }

  private static func address(_ data: Data) -> UInt { data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }

  @Test(
    "Bodies of every size are collected, with and without an announced length",
    arguments: [0, 1, 65_535, 65_536, 65_537, 1 << 20, 3_000_000])
  func sizes(_ size: Int) throws {
    let store = BodyBlockStore()
    for pieces in [1_000, 16_384, 5_000_000] {
      for announced in [nil, 1, 65_535, 65_536, size, 1 << 20] {
        #expect(try Self.body(pattern(size), pieces: pieces, announced: announced, store: store) == pattern(size))
      }
    }
  }

  @Test("The buffer of a body is reused once nothing refers to the body, and not before")
  func round() throws {
    let store = BodyBlockStore()
    var first: Data? = try Self.body(pattern(100_000), pieces: 10_000, announced: 100_000, store: store)
    let address = Self.address(try #require(first))
    let slice = first?.dropFirst(50_000)
    first = nil
    #expect(store.keptBytes == 0)
    let second = try Self.body(Data(repeating: 1, count: 100_000), pieces: 10_000, announced: 100_000, store: store)
    #expect(Self.address(second) != address)
    #expect(slice == pattern(100_000).dropFirst(50_000))
    try withExtendedLifetime(second) {
      let twos = Data(repeating: 2, count: 90_000)
      var third: Data? = try Self.body(twos, pieces: 10_000, announced: 90_000, store: store)
      let address = Self.address(try #require(third))
      third = nil
      #expect(store.keptBytes == 90_000)
      let fourth = try Self.body(Data(repeating: 3, count: 80_000), pieces: 10_000, announced: 80_000, store: store)
      #expect(Self.address(fourth) == address && store.keptBytes == 0)
      #expect(fourth == Data(repeating: 3, count: 80_000))
    }
    #expect(second == Data(repeating: 1, count: 100_000))
  }

  @Test("Changing a collected body does not change copies of it")
  func mutation() throws {
    let store = BodyBlockStore()
    for _ in 0..<3 {
      let original = try Self.body(pattern(200_000), pieces: 10_000, announced: 200_000, store: store)
      var copy = original
      copy[0] = 99
      copy.append(contentsOf: Data(repeating: 7, count: 300_000))
      copy.removeSubrange(10..<20)
      #expect(original == pattern(200_000))
      var expected = Array(pattern(200_000)) + Array(repeating: 7, count: 300_000)
      expected[0] = 99
      expected.removeSubrange(10..<20)
      #expect(Array(copy) == expected)
      // A sole owner changes the body in place or in a copy. In both cases no other body changes.
      var own = try Self.body(pattern(200_000), pieces: 10_000, announced: 200_000, store: store)
      _ = own.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 5) }
      own.append(6)
      own.reserveCapacity(1_000_000)
      own.resetBytes(in: 0..<10)
      let other = try Self.body(pattern(200_000), pieces: 10_000, announced: 200_000, store: store)
      #expect(own == Data(repeating: 0, count: 10) + Data(repeating: 5, count: 199_990) + [6])
      #expect(other == pattern(200_000))
    }
  }

  @Test("The store keeps no more memory than its maximum, and none once it is closed")
  func bounds() throws {
    let store = BodyBlockStore(maximum: 250_000)
    var bodies = try (0..<4).map { _ in
      try Self.body(pattern(100_000), pieces: 100_000, announced: 100_000, store: store)
    }
    #expect(bodies.allSatisfy { $0 == pattern(100_000) })
    bodies.removeAll()
    #expect(store.keptBytes == 200_000)
    let last = try Self.body(pattern(100_000), pieces: 100_000, announced: 100_000, store: store)
    store.close()
    #expect(store.keptBytes == 0 && !store.isOpen)
    #expect(last == pattern(100_000))
  }

  @Test("A body shorter than announced keeps no more than twice its size")
  func short() throws {
    let store = BodyBlockStore()
    var body: Data? = try Self.body(pattern(70_000), pieces: 70_000, announced: 1 << 20, store: store)
    #expect(body == pattern(70_000))
    body = nil
    #expect(store.keptBytes == 70_000)
  }
}
