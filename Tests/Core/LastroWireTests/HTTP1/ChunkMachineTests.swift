// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("Chunked coding", .ownThread)
struct ChunkMachineTests {
  /// The result of feeding a machine with bytes in parts.
  struct Feeding: Equatable {
    var data: [UInt8] = []
    var violation: HeadViolation?
    var isDone = false
    var trailers: [ResponseHead.Field] = []

    /// - Parameter most: the number of available data bytes that are used at once.
    init(_ parts: [ArraySlice<UInt8>], using most: Int = .max, limits: (bytes: Int, fields: Int) = (200, 4)) {
      var machine = ChunkMachine(maximumTrailerBytes: limits.bytes, maximumTrailerFields: limits.fields)
      do throws(HeadViolation) {
        for part in parts { try feed(Array(part), to: &machine, using: most) }
      } catch {
        violation = error
      }
      isDone = machine.isDone
      trailers = machine.trailers
    }

    private mutating func feed(
      _ part: [UInt8], to machine: inout ChunkMachine, using most: Int
    ) throws(HeadViolation) {
      try part.withBytes { bytes throws(HeadViolation) in
        var position = 0
        while true {
          let count = min(most, try machine.findData(in: bytes, at: &position))
          if count == 0 { return }
          data += bytes[position..<position + count]
          machine.markUsed(count)
          position += count
        }
      }
    }
  }

  /// Reads the bytes in one piece, in every two pieces, byte by byte, and with data that is used in single bytes. All
  /// results must be equal.
  private func read(_ bytes: [UInt8], limits: (bytes: Int, fields: Int) = (200, 4)) -> Feeding {
    let whole = Feeding([bytes[...]], limits: limits)
    for cut in 0...bytes.count {
      let halves = Feeding([bytes[..<cut], bytes[cut...]], limits: limits)
      #expect(halves == whole, "cut at \(cut)")
    }
    #expect(Feeding(bytes.indices.map { bytes[$0...$0] }, limits: limits) == whole)
    #expect(Feeding([bytes[...]], using: 1, limits: limits) == whole)
    return whole
  }

  @Test(
    "Chunks are decoded in every split, and bytes behind them are untouched",
    arguments: [
      ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("0\r\n\r\n", ""), ("000\r\n\r\nEXTRA", ""),
      ("1\r\na\r\nA\r\n0123456789\r\nb\r\n0123456789x\r\n0\r\n\r\n5\r\nevil!", "a01234567890123456789x"),
      ("0000000000000002\r\nhi\r\n0\r\n\r\n", "hi"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
      // RFC 9112 §7.1.1
      ("2;a\r\nhi\r\n0;b\r\n\r\n", "hi"), ("2;a=b\r\nhi\r\n0\r\n\r\n", "hi"), ("2;a=b;c;d=e\r\nhi\r\n0\r\n\r\n", "hi"),
      ("2 \t;\ta = b ; c ;d=\"\"\r\nhi\r\n0\r\n\r\n", "hi"), ("2;a=\"x;y\\\"z\\\\ \u{E9}\"\r\nhi\r\n0\r\n\r\n", "hi"),
      ("2;a=\"b\" ;c\r\nhi\r\n0\r\n\r\n", "hi"),
    ])
  func whole(_ sent: String, _ data: String) {
    let fed = read(Array(sent.utf8))
    #expect(fed.violation == nil)
    #expect(fed.isDone)
    #expect(String(decoding: fed.data, as: UTF8.self) == data)
  }

  @Test(
    "Malformed chunk lines are refused",
    arguments: [
      "5 5\r\nhello\r\n", "5 \r\nhello\r\n", "5\t\r\nhello\r\n", " 5\r\nhello\r\n", "\r\n", "\n", "x\r\n", "-5\r\n",
      "+5\r\n",
      "0x5\r\n", "5,\r\n", "5.\r\n", "5g\r\n", "5\u{C}\r\n", "5\0\r\n", "5\r\r\n", "5\rhello", "5\nhello\r\n", ";a\r\n",
      "0Location: /x\r\n\r\n", "00000000000000005\r\n", "10000000000000000\r\n", "ffffffffffffffff\r\n",
      "8000000000000000\r\n", "5;\r\n", "5; \r\n", "5;;\r\n", "5;a;\r\n", "5;a=\r\n", "5;a= \r\n", "5;a==b\r\n",
      "5;=b\r\n",
      "5;a b\r\n", "5;a \r\n", "5;a=b c\r\n", "5;a=b \r\n", "5;a=\"b\r\n", "5;a=\"b\"c\r\n", "5;a=\"b\\\r\n",
      "5;a=\"\u{1}\"\r\n",
      "5;a=\"\u{7F}\"\r\n", "5;a\nhello\r\n", "5;a\0\r\n", "5;\u{E9}\r\n",
    ])
  func badLines(_ sent: String) {
    #expect(read(Array(sent.utf8)).violation?.kind == .transferEncoding)
    #expect(read(Array("1\r\na\r\n\(sent)".utf8)).violation?.kind == .transferEncoding, "after a chunk")
  }

  @Test(
    "Chunk data that does not end where its size says is refused",
    arguments: [
      "5\r\nhello!\r\n", "5\r\nhello\n", "5\r\nhello\r0\r\n", "5\r\nhello\r\r\n", "5\r\nhello0\r\n\r\n",
      "5\r\nhello\n\r\n",
      "4\r\nhello\r\n",
    ])
  func badEnds(_ sent: String) {
    #expect(read(Array(sent.utf8)).violation?.kind == .transferEncoding)
  }

  @Test(
    "An incomplete body is not finished",
    arguments: [
      "", "5", "5\r", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n",
    ])
  func cut(_ sent: String) {
    let fed = read(Array(sent.utf8))
    #expect(fed.violation == nil)
    #expect(!fed.isDone)
  }

  @Test("Trailers are kept, except those that are only valid in a head")
  func trailers() {
    let fields = "Digest: x\r\nContent-Length: 5\r\nSET-COOKIE: a=b\r\nX-Two:\t y \r\n"
    let fed = read(Array("0\r\n\(fields)\r\nEXTRA: x\r\n".utf8))
    #expect(fed.violation == nil)
    #expect(fed.isDone)
    #expect(fed.trailers == [.init(name: "Digest", value: "x"), .init(name: "X-Two", value: "y")])
  }

  @Test(
    "Malformed trailers are refused",
    arguments: [
      ("A: b\r\n c\r\n\r\n", HeadViolation.Kind.fieldName), (" a: b\r\n\r\n", .fieldName), (": b\r\n\r\n", .fieldName),
      ("no colon\r\n\r\n", .fieldName), ("a : b\r\n\r\n", .fieldName), ("a: b\n\r\n", .lineEnd), ("\n", .lineEnd),
      ("a: b\rc\r\n\r\n", .fieldValue), ("a: \0\r\n\r\n", .fieldValue), ("HTTP/1.1 200 OK\r\n\r\n", .fieldName),
    ])
  func badTrailers(_ sent: String, _ kind: HeadViolation.Kind) {
    #expect(read(Array("0\r\n\(sent)".utf8)).violation?.kind == kind)
  }

  @Test("Trailers have limits, which include discarded ones")
  func trailerLimits() {
    let line = "Date: x\r\n"
    let two = Array("0\r\n\(line)\(line)\r\n".utf8)
    #expect(read(two, limits: (200, 2)).isDone)
    #expect(read(two, limits: (200, 1)).violation?.kind == .tooManyFields)
    #expect(read(two, limits: (20, 2)).isDone)
    #expect(read(two, limits: (19, 2)).violation?.kind == .headTooLarge)
    let endless = [UInt8](repeating: 0x61, count: 100)
    #expect(Feeding([Array("0\r\n".utf8)[...], endless[...]], limits: (99, 2)).violation?.kind == .headTooLarge)
  }

  @Test("Extensions have limits, for a line and for all lines together")
  func extensionLimits() {
    func chunk(_ count: Int, data: Int = 1) -> [UInt8] {
      Array("\(String(data, radix: 16));".utf8) + [UInt8](repeating: 0x61, count: count - 1) + Array("\r\n".utf8)
        + [UInt8](repeating: 0x62, count: data) + Array("\r\n".utf8)
    }
    #expect(Feeding([chunk(4096)[...]]).violation == nil)
    #expect(Feeding([chunk(4097)[...]]).violation?.kind == .transferEncoding)
    // The debt may reach 16 KiB.
    let four = Array(repeatElement(chunk(4096), count: 4).joined())
    #expect(Feeding([four[...]]).violation == nil)
    #expect(Feeding([four[...], chunk(4096)[...]]).violation?.kind == .transferEncoding)
    // Body data pays for the overhead of chunks, without an upper bound.
    #expect(Feeding([four[...], chunk(2, data: 20_000)[...], four[...]]).violation == nil)
    let modest = Array(repeatElement(chunk(13), count: 20_000).joined())
    #expect(Feeding([modest[...]]).data.count == 20_000)
    // Each chunk has a signature, however small the chunk is.
    let signed = Array(repeatElement(chunk(81), count: 20_000).joined())
    #expect(Feeding([signed[...]]).data.count == 20_000)
  }

  @Test("Random mutations never change the bytes before them, compared with another parser")
  func mutations() {
    var random = SeededGenerator(seed: 9112)
    let sample = Array("1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n3\r\nfoo\r\n0\r\nT: u\r\n\r\n".utf8)
    for _ in 0..<20_000 {
      var bytes = sample
      bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      if random.next() % 2 == 0 { bytes.remove(at: Int(random.next() % UInt64(bytes.count))) }
      let cut = Int(random.next() % UInt64(bytes.count))
      let fed = Feeding([bytes[..<cut], bytes[cut...]], using: Int(random.next() % 9) + 1)
      #expect(fed == Feeding([bytes[...]]))
      let reference = ChunkReference(bytes)
      #expect(fed.isDone == (reference != nil), "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
      if let reference { #expect(fed.data == reference.data) }
    }
  }
}

/// A second reader of chunked bodies that matches patterns over the whole text; `nil` if the body is incomplete or
/// invalid.
struct ChunkReference {
  private(set) var data: [UInt8] = []

  init?(_ bytes: [UInt8]) {
    var rest = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))[...]
    let token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
    let quoted = "\"(?:[\\t \\x21\\x23-\\x5B\\x5D-\\x7E\\x80-\\xFF]|\\\\[\\t \\x21-\\x7E\\x80-\\xFF])*\""
    guard
      let line = try? Regex(
        "([0-9A-Fa-f]{1,16})(?:[ \\t]*;[ \\t]*\(token)(?:[ \\t]*=[ \\t]*(?:\(token)|\(quoted)))?)*\\r\\n",
        as: (Substring, Substring).self
      ).matchingSemantics(.unicodeScalar),
      let trailer = try? Regex("\(token):[\\t\\x20-\\x7E\\x80-\\xFF]*\\r\\n").matchingSemantics(.unicodeScalar)
    else { return nil }
    while true {
      guard let match = rest.prefixMatch(of: line), let size = Int(match.output.1, radix: 16) else { return nil }
      rest = rest[match.range.upperBound...]
      if size == 0 { break }
      let scalars = rest.unicodeScalars
      guard scalars.count >= size + 2 else { return nil }
      let end = scalars.index(scalars.startIndex, offsetBy: size)
      data += scalars[..<end].map { UInt8(truncatingIfNeeded: $0.value) }
      let after = scalars.index(end, offsetBy: 2)
      guard Array(scalars[end..<after]) == ["\r", "\n"] else { return nil }
      rest = Substring(scalars[after...])
    }
    while let match = rest.prefixMatch(of: trailer) { rest = rest[match.range.upperBound...] }
    let tail = Array(rest.unicodeScalars.prefix(2))
    guard tail == ["\r", "\n"] else { return nil }
  }
}
