// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("Permessage-deflate")
struct WebSocketDeflateTests {
  @Test("The examples of RFC 7692 §7.2.3 are decoded")
  func examples() {
    let deflate = WebSocketDeflate()
    let hello = FrameFeeding.Event.text(Array("Hello".utf8))
    let plain: [UInt8] = [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    #expect(FrameFeeding(plain, deflate: deflate).events == [hello])
    let fragments: [UInt8] = [0x41, 0x03, 0xF2, 0x48, 0xCD, 0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00]
    #expect(FrameFeeding.byteByByte(fragments, deflate: deflate).events == [hello])
    // The second message refers back to the first.
    let twice = plain + [0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00]
    #expect(FrameFeeding(twice, deflate: deflate).events == [hello, hello])
    let stored: [UInt8] = [0xC1, 0x0B, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
    #expect(FrameFeeding(stored, deflate: deflate).events == [hello])
    // The block is the last one (BFINAL), and the following message refers back to it.
    let final: [UInt8] = [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
    #expect(FrameFeeding.byteByByte(final, deflate: deflate).events == [hello])
    #expect(
      FrameFeeding(final + [0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00], deflate: deflate).events == [hello, hello])
    let twoBlocks: [UInt8] = [
      0xC1, 0x0D, 0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00,
    ]
    #expect(FrameFeeding(twoBlocks, deflate: deflate).events == [hello])
  }

  @Test(
    "Messages round-trip with every window size, with and without context takeover",
    arguments: [9, 10, 12, 15], [false, true])
  func windows(bits: Int, forgets: Bool) {
    var deflate = WebSocketDeflate()
    deflate.clientWindowBits = bits
    deflate.serverWindowBits = bits
    deflate.clientNoContextTakeover = forgets
    deflate.serverNoContextTakeover = forgets
    for (sender, reader) in [(WebSocketRole.client, WebSocketRole.server), (.server, .client)] {
      var random = SeededGenerator(seed: UInt64(bits))
      var encoder = WebSocketEncoder(role: sender, deflate: deflate, minimumCompressedBytes: 0)
      var bytes: [UInt8] = []
      var expected: [FrameFeeding.Event] = []
      for size in [0, 1, 5, 600, 40_000, 0, 70_000] {
        let word = random.bytes(7)
        let payload = (0..<size).map { $0 % 50 == 0 ? UInt8(truncatingIfNeeded: random.next()) : word[$0 % 7] }
        bytes += encoder.frame(.binary, payload, key: UInt32(truncatingIfNeeded: random.next()))
        expected.append(.binary(payload))
      }
      #expect(bytes.count < 60_000)
      let fed = FrameFeeding(bytes, role: reader, deflate: deflate)
      #expect(fed.violation == nil)
      #expect(fed.events == expected)
      #expect(
        FrameFeeding(
          bytes, cuts: stride(from: 1, to: bytes.count, by: 37).map { $0 }, role: reader, deflate: deflate
        ).events == expected)
    }
  }

  @Test("A message takes no more memory than its length", arguments: [1, 1000, 40_000, 65_536, 65_537])
  func memory(size: Int) throws {
    guard var deflater = WebSocketDeflater(windowBits: 15), var inflater = WebSocketInflater(windowBits: 15) else {
      return #expect(Bool(false), "out of memory")
    }
    var random = SeededGenerator(seed: UInt64(size))
    let payload = random.bytes(size)
    for _ in 0..<3 {
      inflater.append(payload.withUnsafeBytes { deflater.deflate($0, isFinal: true) })
      inflater.appendTail()
      var inflated: [UInt8] = []
      var room = 0
      while true {
        let piece = try inflater.inflate(upTo: 65_536)
        if piece.isEmpty { break }
        inflated += piece
        room += piece.capacity
      }
      #expect(inflated == payload)
      // The margin of a tenth allows for the rounding of the allocator.
      #expect(room <= size + size / 10 + 64)
    }
  }

  @Test("Messages that end at the end of a piece round-trip", arguments: [16, 1000, 4096, 65_536])
  func edges(pieceBytes: Int) {
    for kind in [WebSocketKind.text, .binary] {
      var random = SeededGenerator(seed: UInt64(pieceBytes))
      var encoder = WebSocketEncoder(role: .server, deflate: WebSocketDeflate(), minimumCompressedBytes: 0)
      var bytes: [UInt8] = []
      var expected: [FrameFeeding.Event] = []
      for size in [pieceBytes, 2 * pieceBytes, pieceBytes - 1, pieceBytes + 1, pieceBytes, pieceBytes] {
        let payload = random.bytes(size).map { $0 & 0x3F | 0x40 }
        bytes += encoder.frame(kind, payload)
        expected.append(kind == .text ? .text(payload) : .binary(payload))
      }
      for cuts in [[], stride(from: 1, to: bytes.count, by: 61).map { $0 }] {
        let fed = FrameFeeding(bytes, cuts: cuts, deflate: WebSocketDeflate(), maximumPieceBytes: pieceBytes)
        #expect(fed.violation == nil)
        #expect(fed.events == expected)
      }
    }
  }

  @Test("Fragments of a compressed message, including empty ones, round-trip", arguments: 0..<30)
  func fragments(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let deflate = WebSocketDeflate()
    var encoder = WebSocketEncoder(role: .server, deflate: deflate)
    var bytes: [UInt8] = []
    var expected: [FrameFeeding.Event] = []
    for _ in 0..<5 {
      var message: [UInt8] = []
      let count = Int.random(in: 1...5, using: &random)
      for index in 0..<count {
        let fragment = random.bytes(Bool.random(using: &random) ? 0 : Int.random(in: 0...3000, using: &random))
        bytes += encoder.frame(.binary, fragment, isFirst: index == 0, isFinal: index == count - 1)
        message += fragment
      }
      expected.append(.binary(message))
    }
    let cuts = (0..<9).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
    let fed = FrameFeeding(bytes, cuts: cuts, deflate: deflate, maximumPieceBytes: 1000)
    #expect(fed.violation == nil)
    #expect(fed.events == expected)
  }

  @Test("Small messages are sent uncompressed, and RSV1 is set on the first frame only")
  func small() {
    var encoder = WebSocketEncoder(role: .server, deflate: WebSocketDeflate(), minimumCompressedBytes: 10)
    #expect(encoder.frame(.text, Array("short".utf8)) == [0x81, 0x05] + Array("short".utf8))
    #expect(encoder.frame(.text, [UInt8](repeating: 0x61, count: 100)).first == 0xC1)
    #expect(encoder.frame(.text, [0x61], isFinal: false).first == 0x41)
    #expect(encoder.frame(.text, [0x61], isFirst: false).first == 0x80)
    #expect(FrameFeeding([0x41, 0x00, 0xC0, 0x00], deflate: WebSocketDeflate()).violation?.kind == .reservedBits)
    #expect(FrameFeeding([0xC9, 0x00], deflate: WebSocketDeflate()).violation?.kind == .reservedBits)
  }

  @Test("With a window of 8 bits nothing is compressed, because zlib does not support it")
  func smallestWindow() {
    var deflate = WebSocketDeflate()
    deflate.clientWindowBits = 8
    var encoder = WebSocketEncoder(role: .client, deflate: deflate, minimumCompressedBytes: 0)
    #expect(encoder.frame(.text, [UInt8](repeating: 0x61, count: 100)).first == 0x81)
  }

  @Test("Invalid or truncated data is refused, and expansion stops at the limit")
  func broken() {
    let deflate = WebSocketDeflate()
    #expect(FrameFeeding([0xC1, 0x02, 0xFF, 0xFF], deflate: deflate).violation?.kind == .compression)
    #expect(FrameFeeding([0xC1, 0x03, 0xF2, 0x48, 0xCD], deflate: deflate).violation?.kind == .compression)
    #expect(
      FrameFeeding([0xC1, 0x06, 0x00, 0x09, 0x00, 0xF6, 0xFF, 0x61], deflate: deflate).violation?.kind
        == .compression)
    var encoder = WebSocketEncoder(role: .server, deflate: deflate)
    let bomb = encoder.frame(.binary, [UInt8](repeating: 0, count: 5_000_000))
    #expect(bomb.count < 10_000)
    let fed = FrameFeeding(bomb, deflate: deflate, maximumMessageBytes: 100_000)
    #expect(fed.violation?.kind == .messageTooLarge)
    // Text is checked after decompression.
    let text = encoder.frame(.text, [0x61, 0xFF] + [UInt8](repeating: 0x61, count: 2000))
    #expect(FrameFeeding(bomb + text, deflate: deflate).violation?.kind == .utf8)
  }

  @Test("Extension lists are parsed with quoted values, blanks and empty elements")
  func lists() throws {
    let list = try #require(
      WebSocketExtension.list(" a ; b=1;c=\"2\" ; d,, \tpermessage-deflate; client_max_window_bits=\"1\\0\""))
    #expect(list.map(\.name) == ["a", "permessage-deflate"])
    #expect(list[0].parameters.map(\.name) == ["b", "c", "d"])
    #expect(list[0].parameters.map(\.value) == ["1", "2", nil])
    #expect(list[1].parameters.map(\.value) == ["10"])
    #expect(WebSocketExtension.list("")?.isEmpty == true)
    for text in [
      "a;", "a;=1", "a;b=", "a b", "a;b=\"", "a;b=\"\"", "a;b=\"x y\"", "a;b=\"x\"y", ";a", "a;b=1 2", "\u{E4}",
    ] {
      #expect(WebSocketExtension.list(text) == nil, "\(text)")
    }
  }

  struct Answer: Sendable {
    var answer: String
    var isFit: Bool
    init(_ answer: String, _ isFit: Bool) {
      self.answer = answer
      self.isFit = isFit
    }
  }

  @Test(
    "A response must match the offer",
    arguments: [
      Answer("permessage-deflate", true), Answer("permessage-deflate; server_no_context_takeover", true),
      Answer("permessage-deflate; client_no_context_takeover; server_max_window_bits=9", true),
      Answer("permessage-deflate; client_max_window_bits=\"10\"", true),
      Answer("permessage-deflate; client_max_window_bits", false),
      Answer("permessage-deflate; client_max_window_bits=7", false),
      Answer("permessage-deflate; client_max_window_bits=16", false),
      Answer("permessage-deflate; client_max_window_bits=010", false),
      Answer("permessage-deflate; server_max_window_bits", false),
      Answer("permessage-deflate; server_no_context_takeover=1", false),
      Answer("permessage-deflate; server_no_context_takeover; server_no_context_takeover", false),
      Answer("permessage-deflate; other", false),
    ])
  func answers(_ expected: Answer) throws {
    let answer = try #require(WebSocketExtension.list(expected.answer)?.first)
    let agreement = try? WebSocketDeflateOffer().agreement(answer)
    #expect((agreement != nil) == expected.isFit)
  }

  @Test("Required parameters must be accepted, and parameters not offered are refused")
  func insisting() throws {
    let plain = try #require(WebSocketExtension.list("permessage-deflate")?.first)
    var offer = WebSocketDeflateOffer()
    offer.serverNoContextTakeover = true
    #expect(throws: WebSocketHandshakeFailure.self) { try offer.agreement(plain) }
    offer = WebSocketDeflateOffer()
    offer.serverMaximumWindowBits = 10
    #expect(throws: WebSocketHandshakeFailure.self) { try offer.agreement(plain) }
    let bits = try #require(WebSocketExtension.list("permessage-deflate; client_max_window_bits=10")?.first)
    offer = WebSocketDeflateOffer()
    offer.allowsClientWindowBits = false
    #expect(throws: WebSocketHandshakeFailure.self) { try offer.agreement(bits) }
    offer.clientMaximumWindowBits = 9
    #expect(try offer.agreement(bits).clientWindowBits == 9)
    offer.clientNoContextTakeover = true
    #expect(try offer.agreement(plain).clientNoContextTakeover)
    #expect(
      offer.headerValue == "permessage-deflate; client_no_context_takeover; client_max_window_bits=9")
  }
}
