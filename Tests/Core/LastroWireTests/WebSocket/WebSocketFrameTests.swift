// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("WebSocket frames", .ownThread)
struct WebSocketFrameTests {
  /// A text in fragments with a ping in between, a binary message, an empty text, a pong, and Close.
  static let conversation: [UInt8] =
    [0x01, 0x03, 0x48, 0x65, 0x6C] + [0x89, 0x02, 0x68, 0x69] + [0x00, 0x00] + [0x80, 0x04, 0x6C, 0x6F, 0xC3, 0xBC]
    + [0x82, 0x7E, 0x00, 0x80] + [UInt8](repeating: 7, count: 128) + [0x81, 0x00] + [0x8A, 0x01, 0x01]
    + [0x88, 0x05, 0x03, 0xE8, 0x62, 0x79, 0x65]
  // This is a computed property, because LeakSanitizer does not see memory that the enums of a constant hold.
  static var events: [FrameFeeding.Event] {
    [
      .ping([0x68, 0x69]), .text(Array("Hellоü".utf8.prefix(4)) + Array("oü".utf8)),
      .binary([UInt8](repeating: 7, count: 128)), .text([]), .pong([1]), .close(1000, "bye"),
    ]
  }

  @Test("A conversation is parsed alike in one piece, byte by byte, and in every two pieces")
  func splits() {
    let whole = FrameFeeding(Self.conversation)
    #expect(whole.violation == nil)
    #expect(whole.events == Self.events)
    #expect(FrameFeeding.byteByByte(Self.conversation).events == Self.events)
    for cut in 1..<Self.conversation.count {
      #expect(FrameFeeding(Self.conversation, cuts: [cut]).events == Self.events)
    }
  }

  @Test("Pieces of any size give the same result")
  func pieces() {
    for size in 1...40 {
      #expect(FrameFeeding(Self.conversation, maximumPieceBytes: size).events == Self.events)
    }
  }

  @Test("The examples of RFC 6455 §5.7 are decoded")
  func examples() {
    #expect(FrameFeeding([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]).events == [.text(Array("Hello".utf8))])
    #expect(
      FrameFeeding([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], role: .server).events
        == [.text(Array("Hello".utf8))])
    #expect(
      FrameFeeding([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]).events == [.text(Array("Hello".utf8))])
    let large = [UInt8](repeating: 1, count: 65_536)
    #expect(FrameFeeding([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large).events == [.binary(large)])
    var encoder = WebSocketEncoder(role: .client)
    #expect(
      encoder.frame(.text, Array("Hello".utf8), key: 0x3D21_FA37)
        == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
  }

  struct Violation: Sendable {
    var bytes: [UInt8]
    var kind: WebSocketViolation.Kind
    /// The position, from 1, of the byte that reveals the violation.
    var at: Int

    init(_ bytes: [UInt8], _ kind: WebSocketViolation.Kind, at: Int) {
      self.bytes = bytes
      self.kind = kind
      self.at = at
    }
  }

  static let violations = [
    Violation([0xC1, 0x00], .reservedBits, at: 1), Violation([0xA1, 0x00], .reservedBits, at: 1),
    Violation([0x91, 0x00], .reservedBits, at: 1), Violation([0x83, 0x00], .opcode, at: 1),
    Violation([0x87, 0x00], .opcode, at: 1), Violation([0x8B, 0x00], .opcode, at: 1),
    Violation([0x8F, 0x00], .opcode, at: 1), Violation([0x09, 0x00], .control, at: 1),
    Violation([0x08, 0x00], .control, at: 1), Violation([0x89, 0x7E], .control, at: 2),
    Violation([0x88, 0x7F], .control, at: 2), Violation([0x81, 0x80], .masking, at: 2),
    Violation([0x82, 0x7E, 0x00, 0x7D], .length, at: 4),
    Violation([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .length, at: 10),
    Violation([0x82, 0x7F, 0x80], .length, at: 3), Violation([0x80, 0x00], .fragmentation, at: 2),
    Violation([0x00, 0x00], .fragmentation, at: 2), Violation([0x01, 0x00, 0x81, 0x00], .fragmentation, at: 4),
    Violation([0x88, 0x01, 0x03], .closePayload, at: 3), Violation([0x88, 0x02, 0x03, 0xE7], .closePayload, at: 4),
    Violation([0x88, 0x03, 0x03, 0xE8, 0xFF], .utf8, at: 5), Violation([0x81, 0x05, 0x61, 0xFF], .utf8, at: 4),
    Violation([0x81, 0x05, 0xED, 0xA0], .utf8, at: 4), Violation([0x81, 0x02, 0x61, 0xC3], .utf8, at: 4),
    Violation([0x01, 0x01, 0xE2, 0x80, 0x01, 0x28], .utf8, at: 6),
    Violation([0x01, 0x01, 0xC3, 0x80, 0x00], .utf8, at: 5),
  ]

  @Test("A violation is detected at the byte that shows it, and not before", arguments: violations)
  func violation(_ expected: Violation) {
    let fed = FrameFeeding.byteByByte(expected.bytes)
    #expect(fed.violation?.kind == expected.kind)
    #expect(fed.violationAt == expected.at)
    #expect(FrameFeeding(expected.bytes).violation?.kind == expected.kind)
  }

  @Test("A server refuses unmasked frames and decodes masked ones")
  func serverRole() {
    #expect(FrameFeeding([0x81, 0x00], role: .server).violation?.kind == .masking)
    #expect(FrameFeeding([0x89, 0x81, 1, 2, 3, 4, 5], role: .server).events == [.ping([4])])
  }

  @Test("Exactly the permitted close codes may be sent")
  func closeCodes() {
    let valid = Array(1000...1003) + Array(1007...1014) + Array(3000...4999)
    for code in UInt16.min...UInt16.max {
      #expect(WebSocketCloseRules.isValid(code) == valid.contains(Int(code)))
    }
    #expect(FrameFeeding([0x88, 0x00]).events == [.close(nil, "")])
  }

  @Test("Nothing is read behind a Close frame")
  func afterClose() {
    #expect(FrameFeeding([0x88, 0x00, 0xFF, 0xFF]).events == [.close(nil, "")])
    #expect(FrameFeeding([0x88, 0x00, 0xFF, 0xFF], cuts: [2]).violation == nil)
  }

  @Test("The limits apply to a frame once its length is known, and to a message over all its frames")
  func limits() {
    let frame = FrameFeeding([0x82, 0x7F, 0, 0, 1, 0, 0, 0, 0, 0], maximumFrameBytes: 1 << 20)
    #expect(frame.violation?.kind == .frameTooLarge)
    #expect(frame.violation?.closeCode == 1009)
    let message = FrameFeeding([0x02, 0x02, 1, 2, 0x80, 0x02], maximumMessageBytes: 3)
    #expect(message.violation?.kind == .messageTooLarge)
    // Control frames have a limit of their own.
    #expect(
      FrameFeeding([0x89, 0x02, 1, 2, 0x82, 0x01, 3], maximumFrameBytes: 1).events == [
        .ping([1, 2]), .binary([3]),
      ])
    #expect(
      FrameFeeding([0x02, 0x02, 1, 2, 0x80, 0x01, 3], maximumMessageBytes: 3).events == [.binary([1, 2, 3])])
  }

  @Test("Masking gives the same result at every length and offset as byte by byte")
  func masking() {
    var random = SeededGenerator(seed: 1)
    for length in 0...40 {
      for offset in 0...8 {
        let key = UInt32(truncatingIfNeeded: random.next())
        let original = random.bytes(length)
        var masked = original
        masked.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0, offset: offset) }
        let expected = original.enumerated().map { index, byte in
          byte ^ UInt8(truncatingIfNeeded: key >> UInt32((index + offset) % 4 * 8))
        }
        #expect(masked == expected)
      }
    }
  }

  @Test("Lengths are written in as few bytes as possible and read back")
  func lengths() {
    for length in [0, 1, 125, 126, 127, 65_535, 65_536, 70_000] {
      var encoder = WebSocketEncoder(role: .client)
      let bytes = [UInt8](repeating: 0x61, count: length)
      let frame = encoder.frame(.text, bytes, key: 0xDEAD_BEEF)
      #expect(frame.count == length + 4 + (length <= 125 ? 2 : length <= 65_535 ? 4 : 10))
      #expect(FrameFeeding(frame, role: .server).events == [.text(bytes)])
    }
  }

  @Test("Random frames in random pieces are received as sent", arguments: 0..<40)
  func random(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var encoder = WebSocketEncoder(role: seed % 2 == 0 ? .client : .server)
    var bytes: [UInt8] = []
    var expected: [FrameFeeding.Event] = []
    for _ in 0..<30 {
      let payload = random.bytes(Int.random(in: 0...300, using: &random))
      let key = UInt32(truncatingIfNeeded: random.next())
      switch Int.random(in: 0...4, using: &random) {
      case 0:
        bytes += encoder.control(.ping, payload, key: key)
        expected.append(.ping(Array(payload.prefix(125))))
      case 1:
        let cut = Int.random(in: 0...payload.count, using: &random)
        bytes += encoder.frame(.binary, Array(payload[..<cut]), isFinal: false, key: key)
        bytes += encoder.control(.pong, [9], key: key)
        bytes += encoder.frame(.binary, Array(payload[cut...]), isFirst: false, key: key)
        expected += [.pong([9]), .binary(payload)]
      default:
        bytes += encoder.frame(.binary, payload, key: key)
        expected.append(.binary(payload))
      }
    }
    let cuts = (0..<20).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
    let fed = FrameFeeding(bytes, cuts: cuts, role: seed % 2 == 0 ? .server : .client)
    #expect(fed.violation == nil)
    #expect(fed.events == expected)
  }

  @Test("Random bytes have the same result whole and one byte at a time", arguments: 0..<200)
  func garbage(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed) &+ 1_000_000)
    var deflate: WebSocketDeflate?
    if seed % 2 == 0 { deflate = WebSocketDeflate() }
    let bytes = [[0x81, 0x82, 0x01, 0xC1, 0x89, 0x88][seed % 6]] + random.bytes(400)
    let whole = FrameFeeding(bytes, deflate: deflate, maximumMessageBytes: 1 << 20)
    let single = FrameFeeding(
      bytes, cuts: Array(1..<bytes.count), deflate: deflate, maximumMessageBytes: 1 << 20)
    #expect(single.events == whole.events)
    #expect(single.violation?.kind == whole.violation?.kind)
  }
}

@Suite("UTF-8, piece by piece", .ownThread)
struct UTF8ValidatorTests {
  @Test("Bytes are accepted exactly where the standard library accepts them", arguments: 0..<60)
  func random(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let interesting: [UInt8] = [
      0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
      0xF1, 0xF3, 0xF4, 0xF5, 0xFF, 0x41,
    ]
    for _ in 0..<500 {
      let bytes = (0..<Int.random(in: 1...12, using: &random)).map { _ in
        interesting[Int.random(in: 0..<interesting.count, using: &random)]
      }
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      let cut = Int.random(in: 0...bytes.count, using: &random)
      var validator = UTF8Validator()
      let accepts =
        bytes[..<cut].withUnsafeBytes { validator.consume($0) }
        && bytes[cut...].withUnsafeBytes { validator.consume($0) } && validator.isComplete
      #expect(accepts == isValid, "\(bytes) cut at \(cut)")
    }
  }

  @Test("Every scalar is accepted in every split, and every surrogate is refused at its second byte")
  func scalars() {
    for value in stride(from: UInt32(0), through: 0x10FFFF, by: 61) {
      guard let scalar = Unicode.Scalar(value) else {
        var validator = UTF8Validator()
        let bytes = [0xED, UInt8(0x80 | value >> 6 & 0x3F)]
        #expect(!bytes.withUnsafeBytes { validator.consume($0) })
        continue
      }
      var validator = UTF8Validator()
      for byte in String(scalar).utf8 { #expect([byte].withUnsafeBytes { validator.consume($0) }) }
      #expect(validator.isComplete)
    }
  }
}

/// The result of decoding bytes, with the pieces of each message joined.
struct FrameFeeding {
  enum Event: Equatable {
    case text([UInt8])
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
  }

  var events: [Event] = []
  var violation: WebSocketViolation?
  /// The number of bytes that had been passed when the violation was detected.
  var violationAt: Int?
  private var message: [UInt8] = []

  /// - Parameter cuts: the positions at which the bytes are cut, in order.
  init(
    _ bytes: [UInt8], cuts: [Int] = [], role: WebSocketRole = .client, deflate: WebSocketDeflate? = nil,
    maximumFrameBytes: Int = .max, maximumMessageBytes: Int? = nil, maximumPieceBytes: Int = 65_536
  ) {
    var decoder = WebSocketDecoder(
      .init(
        role: role, deflate: deflate, maximumFrameBytes: maximumFrameBytes, maximumMessageBytes: maximumMessageBytes,
        maximumPieceBytes: maximumPieceBytes))
    var start = 0
    do throws(WebSocketViolation) {
      for end in cuts + [bytes.count] {
        bytes[start..<end].withUnsafeBytes { decoder.receive($0) }
        start = end
        while let event = try decoder.next() { note(event) }
      }
    } catch {
      violation = error
      violationAt = start
    }
  }

  /// Decodes one byte at a time.
  static func byteByByte(_ bytes: [UInt8], role: WebSocketRole = .client, deflate: WebSocketDeflate? = nil) -> Self {
    Self(bytes, cuts: Array(1..<max(1, bytes.count)), role: role, deflate: deflate)
  }

  private mutating func note(_ event: WebSocketDecoder.Event) {
    switch event {
    case .piece(let piece):
      if piece.isFirst { message = [] }
      message += piece.bytes
      if piece.isFinal { events.append(piece.kind == .text ? .text(message) : .binary(message)) }
    case .ping(let payload): events.append(.ping(payload))
    case .pong(let payload): events.append(.pong(payload))
    case .close(let code, let reason): events.append(.close(code, reason))
    }
  }
}

extension WebSocketEncoder {
  /// Returns a frame as an array of bytes.
  mutating func frame(
    _ kind: WebSocketKind, _ bytes: [UInt8], isFirst: Bool = true, isFinal: Bool = true, key: UInt32 = 0
  ) -> [UInt8] {
    var frame: [UInt8] = []
    bytes.withUnsafeBytes { data(kind, $0, isFirst: isFirst, isFinal: isFinal, key: key, into: &frame) }
    return frame
  }

  /// Returns a control frame.
  mutating func control(_ opcode: WebSocketOpcode, _ payload: [UInt8] = [], key: UInt32) -> [UInt8] {
    var frame: [UInt8] = []
    control(opcode, payload, key: key, into: &frame)
    return frame
  }
}

extension SeededGenerator {
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
