// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Gemini response header")
struct GeminiHeaderMachineTests {
  typealias Header = GeminiHeaderMachine.Header

  /// Valid headers with their status and meta.
  static let good: [(String, Int, String)] = [
    ("20 text/gemini\r\n", 20, "text/gemini"), ("20 \r\n", 20, ""), ("20\r\n", 20, ""), ("51\r\n", 51, ""),
    ("10 Query?\r\n", 10, "Query?"), ("69 x\r\n", 69, "x"), ("44 10\r\n", 44, "10"),
    ("20 text/plain; charset=\"x\"; lang=pt-PT\r\n", 20, "text/plain; charset=\"x\"; lang=pt-PT"),
    ("59  two spaces \r\n", 59, " two spaces "), ("40 não há\u{1F600}\r\n", 40, "não há\u{1F600}"),
    ("30 " + String(repeating: "x", count: 1024) + "\r\n", 30, String(repeating: "x", count: 1024)),
  ]

  private static let badTexts: [(String, GeminiHeaderViolation.Kind)] = [
    ("", .early), ("2", .early), ("20", .early), ("20 text", .early), ("20 text\r", .early), ("20\r", .early),
    ("00 x\r\n", .status), ("70 x\r\n", .status), ("99 x\r\n", .status), ("2a x\r\n", .status), ("a0 x\r\n", .status),
    (" 20 x\r\n", .status), ("200 x\r\n", .status), ("\r\n", .status), ("2 x\r\n", .status), ("-2 x\r\n", .status),
    ("\u{FEFF}20 x\r\n", .status), ("20\tx\r\n", .separator), ("20x\r\n", .separator), ("20\n", .lineEnd),
    ("20 x\n", .lineEnd), ("20 x\ry\r\n", .lineEnd), ("20 x\r\r\n", .lineEnd), ("20 a\tb\r\n", .meta),
    ("20 a\u{0}b\r\n", .meta), ("20 \u{1B}[2J\r\n", .meta), ("20 \u{7F}\r\n", .meta), ("20 \u{85}\r\n", .meta),
    ("20 \u{FEFF}text/gemini\r\n", .meta), ("20 " + String(repeating: "x", count: 1025) + "\r\n", .metaTooLong),
    ("20 " + String(repeating: "x", count: 5000), .metaTooLong), ("HTTP/1.1 400 Bad Request\r\n\r\n", .status),
  ]

  static let bad: [([UInt8], GeminiHeaderViolation.Kind)] =
    badTexts.map { (Array($0.0.utf8), $0.1) }
    + [([0x32, 0x30, 0x20, 0xFF, 0x0D, 0x0A], .meta), ([0x32, 0x30, 0x20, 0xC3, 0x0D, 0x0A], .meta)]

  /// Reads pieces, and returns the header and the unread rest of the last pieces.
  static func read(_ pieces: [[UInt8]]) throws -> (Header?, [UInt8]) {
    var machine = GeminiHeaderMachine()
    var found: Header?
    var rest: [UInt8] = []
    for piece in pieces {
      #expect(machine.minimumMissingBytes > 0 || found != nil)
      let (header, consumed) = try piece.withUnsafeBytes { try machine.consume($0) }
      found = header ?? found
      rest += piece[consumed...]
    }
    try machine.finish()
    return (found, rest)
  }

  @Test("Valid headers are parsed in one piece, byte by byte and in every split, leaving what follows", arguments: good)
  func reading(text: String, status: Int, meta: String) throws {
    let body = Array("\r\n20 body".utf8)
    let bytes = Array(text.utf8) + body
    let expected = Header(status: status, meta: meta)
    #expect(try Self.read([bytes]) == (expected, body))
    #expect(try Self.read(bytes.map { [$0] }) == (expected, body))
    for split in 0...bytes.count where split < 64 || bytes.count - split < 64 || split % 97 == 0 {
      #expect(try Self.read([Array(bytes[..<split]), Array(bytes[split...])]) == (expected, body))
    }
  }

  @Test("Invalid headers fail alike in every split", arguments: bad)
  func refusing(bytes: [UInt8], kind: GeminiHeaderViolation.Kind) throws {
    let whole = #expect(throws: GeminiHeaderViolation.self) { try Self.read([bytes]) }
    #expect(whole?.kind == kind, "\(String(decoding: bytes, as: UTF8.self))")
    #expect(whole == #expect(throws: GeminiHeaderViolation.self) { try Self.read(bytes.map { [$0] }) })
    for split in 0...min(bytes.count, 64) {
      let error = #expect(throws: GeminiHeaderViolation.self) {
        try Self.read([Array(bytes[..<split]), Array(bytes[split...])])
      }
      #expect(error == whole)
    }
  }

  @Test("The minimum number of missing bytes is reported")
  func missing() throws {
    var machine = GeminiHeaderMachine()
    for (byte, missing) in zip("20 x\r\n".utf8, [4, 3, 2, 2, 2, 1]) {
      #expect(machine.minimumMissingBytes == missing)
      _ = try machine.consume([byte])
    }
    #expect(machine.minimumMissingBytes == 0 && machine.isComplete)
  }
}
