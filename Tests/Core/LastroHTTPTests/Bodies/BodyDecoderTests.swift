// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire
import TestSupport
import Testing

@testable import LastroHTTP

/// A decoder in front of a sink that is sometimes full. Refused bytes are passed again, possibly in other pieces.
@Suite("Body decoder", .ownThread)
struct BodyDecoderTests {
  /// A sink that accepts a limited number of pieces between two resumes.
  private final class Sink: PausingSink {
    private(set) var bytes: [UInt8] = []
    private let most: () -> Int
    private var room: Int

    init(_ most: @escaping () -> Int) {
      self.most = most
      room = most()
    }

    func resume() { room = most() }

    var receivedAt: UInt64 { 0 }

    func hasRoom() -> Bool { room > 0 }

    func deliver(_ piece: UnsafeRawBufferPointer) -> BodyVerdict {
      room -= 1
      bytes += piece
      return .taken
    }
  }

  private static let limits = DecodingLimits(ratio: 250, floor: 1 << 25)

  /// Passes bytes in pieces. Refused bytes are passed again, in front of the next ones, and split differently.
  private static func feed(
    _ bytes: [UInt8], to decoder: inout BodyDecoder, _ sink: some PausingSink, piece: () -> Int
  ) throws(TransportError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(max(1, piece())))
      let verdict = try part.withBytes { bytes throws(TransportError) in try decoder.receive(bytes, for: sink) }
      switch verdict {
      case .taken: rest = rest.dropFirst(part.count)
      case .full: sink.resume()
      case .refused: return
      }
    }
  }

  private static let hello: [UInt8] =
    [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
    + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]

  /// 1,049,608 zeros, compressed to 1,037 bytes, which the decoder returns in 33 pieces.
  private static let zeros: [UInt8] =
    [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + [
      0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0,
    ]
    + [UInt8](repeating: 0, count: 1015) + [0, 0, 0x3E, 0x03, 0, 0, 0xFF, 0xFF]

  private static func decoder(_ limits: DecodingLimits = limits) throws -> BodyDecoder {
    try #require(try BodyDecoder(["gzip"], accepted: [.gzip], limits: limits, isStream: true))
  }

  @Test("Decoding is the same for every split, with and without a pause before each piece")
  func splits() throws {
    let bytes = Self.hello + Self.hello + Self.hello
    for cut in 1...bytes.count {
      for most in 1...4 {
        let sink = Sink { most }
        var sizes = [cut]
        var decoder = try Self.decoder()
        try Self.feed(bytes, to: &decoder, sink) { sizes.popLast() ?? bytes.count }
        try decoder.end()
        #expect(
          String(decoding: sink.bytes, as: UTF8.self) == "hellohellohello", "cut at \(cut), \(most) pieces at a time")
      }
    }
  }

  @Test("Decoding is the same for random pieces and pauses, with output pending in the decoder", arguments: 0..<40)
  func random(seed: UInt64) throws {
    var random = Numbers(seed: seed)
    func number(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    let sink = Sink { number(4) }
    var decoder = try Self.decoder()
    try Self.feed(Self.zeros, to: &decoder, sink) { 1 + number(number(2) == 0 ? 8 : 2_000) }
    #expect(sink.bytes.count == 1_049_608)
    #expect(sink.bytes.allSatisfy { $0 == 0 })
    // The compressed data has no end.
    let error = #expect(throws: TransportError.self) { try decoder.end() }
    #expect(error?.code == .truncatedBody)
  }

  @Test("A decompression bomb is detected by the ratio of output to input")
  func bomb() throws {
    var limits = Self.limits
    limits.floor = 1 << 18
    let sink = Sink { .max }
    var decoder = try Self.decoder(limits)
    let error = #expect(throws: TransportError.self) {
      try Self.feed(Self.zeros, to: &decoder, sink) { 100 }
    }
    #expect(error?.code == .decompressionBomb)
    #expect(sink.bytes.count <= 1 << 18)
  }
}

private protocol PausingSink: BodySink {
  /// Makes room in the sink again.
  func resume()
}

private struct Numbers {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
