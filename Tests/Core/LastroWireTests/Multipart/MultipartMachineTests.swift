// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Multipart parser")
struct MultipartMachineTests {
  /// The result of reading a message. Incomplete parts are not included.
  struct Outcome: Equatable {
    var parts: [Part] = []
    var violation: MultipartViolation.Kind?
  }

  struct Part: Equatable {
    var fields: [ResponseHead.Field] = []
    var body: [UInt8] = []
  }

  /// Reads a message in chunks of a given size.
  static func read(
    _ message: [UInt8], boundary: String = "b", chunk: Int = .max, limits: MultipartMachine.Limits = .init()
  ) throws -> Outcome {
    var machine = MultipartMachine(boundary: try #require(MultipartBoundary(boundary)), limits: limits)
    var outcome = Outcome()
    var part = Part()
    do throws(MultipartViolation) {
      var rest = message[...]
      while !rest.isEmpty {
        let piece = Array(rest.prefix(chunk))
        rest = rest.dropFirst(chunk)
        piece.withUnsafeBytes { machine.append($0) }
        while let event = try machine.next() {
          switch event {
          case .head(let fields): part = Part(fields: fields)
          case .body(let bytes):
            #expect(!bytes.isEmpty)
            part.body += bytes
          case .partEnd: outcome.parts.append(part)
          case .end: #expect(machine.hasEnded)
          }
        }
      }
      try machine.finish()
    } catch {
      outcome.violation = error.kind
    }
    return outcome
  }

  static func read(_ message: String, chunk: Int = .max, limits: MultipartMachine.Limits = .init()) throws -> Outcome {
    try read(Array(message.utf8), chunk: chunk, limits: limits)
  }

  /// The messages, with the bodies of their parts.
  static let messages: [(String, [String])] = [
    ("--b\r\n\r\none\r\n--b--\r\n", ["one"]), ("--b--", []), ("--b--\r\n", []),
    ("--b\r\n\r\none\r\n--b\r\nA: b\r\n\r\ntwo\r\n--b--", ["one", "two"]),
    ("preamble\r\n--b\r\n\r\none\r\n--b--epilogue\r\n--b\r\n\r\nno\r\n--b--", ["one"]),
    ("\r\n--b\r\n\r\none\r\n--b--", ["one"]), ("--b \t \r\n\r\none\r\n--b\t\r\n\r\n\r\n--b--", ["one", ""]),
    // The body is empty: the empty line may be the delimiter's CRLF.
    ("--b\r\n\r\n--b--", [""]), ("--b\r\nA: b\r\n\r\n\r\n--b--", [""]), ("--b\r\nA: b\r\n\r\n--b--", [""]),
    // These lines only resemble a delimiter.
    ("--b\r\n\r\n--bX\r\n--b-\r\n--b -\r\n--b\r--b\n--b\r\n--b--", ["--bX\r\n--b-\r\n--b -\r\n--b\r--b\n--b"]),
    ("--b\r\n\r\n\r\n--\r\n-\r\n--b--", ["\r\n--\r\n-"]), ("--b\r\n\r\n\r\r\n\n\r\n--b--", ["\r\r\n\n"]),
    ("--b\r\n\r\n\r\r\n--b--", ["\r"]), ("--B\r\n--b\r\n\r\none\r\n--b--", ["one"]),
    ("a\n--b\r\n--b\r\n\r\none\r\n--b--", ["one"]),
  ]

  @Test("Parts are separated at delimiters only, in any chunks", arguments: messages)
  func parts(message: String, bodies: [String]) throws {
    for chunk in [1, 2, 3, 5, .max] {
      let outcome = try Self.read(message, chunk: chunk)
      #expect(outcome.violation == nil)
      #expect(outcome.parts.map { String(decoding: $0.body, as: UTF8.self) } == bodies, "chunks of \(chunk)")
    }
  }

  @Test("Part heads are parsed as in HTTP, and their lines may be folded")
  func heads() throws {
    let message = "--b\r\nContent-Type: a/b\r\nX-Long: one\r\n \t two\r\n\tthree\r\nX-Empty:\r\n\r\n\r\n--b--"
    for chunk in [1, .max] {
      let fields = try Self.read(message, chunk: chunk).parts.map(\.fields)
      #expect(
        fields.first?.map { "\($0.name)=\($0.value)" } == ["Content-Type=a/b", "X-Long=one two three", "X-Empty="])
    }
  }

  @Test(
    "Malformed messages are refused",
    arguments: [
      ("--b\n\r\none\r\n--b--", .bareLineFeed), ("--b\r\nA: b\n\r\n\r\n--b--", .bareLineFeed),
      ("--b\r\n\nx\r\n--b--", .bareLineFeed), ("--b\r\n\r\none\r\n--b \n\r\n--b--", .bareLineFeed),
      ("--b\r\nno colon\r\n\r\n\r\n--b--", .field), ("--b\r\n A: b\r\n\r\n\r\n--b--", .field),
      ("--b\r\nA b: c\r\n\r\n\r\n--b--", .field), ("--b\r\nA: b\rc\r\n\r\n\r\n--b--", .field),
      ("--b\r\nA: b\0c\r\n\r\n\r\n--b--", .field), ("--b\r\n--b--", .truncated),
      ("", .truncated), ("no delimiter", .truncated), ("--b\r\n\r\none\r\n--b-", .truncated),
    ] as [(String, MultipartViolation.Kind)])
  func violations(message: String, kind: MultipartViolation.Kind) throws {
    for chunk in [1, 4, .max] { #expect(try Self.read(message, chunk: chunk).violation == kind, "chunks of \(chunk)") }
  }

  @Test("Truncated messages are never taken as complete")
  func truncation() throws {
    for (message, bodies) in Self.messages {
      let bytes = Array(message.utf8)
      for length in bytes.indices {
        let outcome = try Self.read(Array(bytes[..<length]))
        let isWhole = outcome.violation == nil
        #expect(isWhole ? outcome.parts.count == bodies.count : outcome.violation == .truncated)
      }
    }
  }

  @Test("Limits are enforced to the byte")
  func limits() throws {
    var limits = MultipartMachine.Limits()
    limits.headBytes = 10
    limits.fields = 2
    limits.parts = 2
    limits.preambleBytes = 5
    let cases: [(String, MultipartViolation.Kind?)] = [
      ("--b\r\nA: 345\r\n\r\n\r\n--b--", nil), ("--b\r\nA: 3456\r\n\r\n\r\n--b--", .headTooLarge),
      ("--b\r\nAAAAAAAAAAA", .headTooLarge), ("--b\r\nA:\r\nB:\r\n\r\n--b--", nil),
      ("--b\r\nA:\r\nB:\r\nC:\r\n\r\n--b--", .headTooLarge), ("--b\r\n\r\n\r\n--b\r\n\r\n\r\n--b--", nil),
      ("--b\r\n\r\n\r\n--b\r\n\r\n\r\n--b\r\n", .tooManyParts), ("12345\r\n--b--", nil),
      ("123456\r\n--b--", .preambleTooLarge), ("123456", .preambleTooLarge),
    ]
    for (message, kind) in cases {
      for chunk in [1, 3, .max] {
        #expect(try Self.read(message, chunk: chunk, limits: limits).violation == kind, "\(message)")
      }
    }
    limits.headBytes = 100
    #expect(try Self.read("--b\r\nA:\r\nB:\r\nC:\r\n\r\n--b--", limits: limits).violation == .tooManyFields)
    let blanks = String(repeating: " ", count: 129)
    #expect(try Self.read("--b\(blanks)").violation == .paddingTooLong)
    #expect(try Self.read("--b\(blanks.dropLast())\r\n\r\n--b--").violation == nil)
  }

  @Test("No more of a body is held back than the length of a delimiter")
  func heldBack() throws {
    let boundary = String(repeating: "x", count: 70)
    var machine = MultipartMachine(boundary: try #require(MultipartBoundary(boundary)))
    Array("--\(boundary)\r\n\r\n".utf8).withUnsafeBytes { machine.append($0) }
    #expect(try machine.next() == .head([]))
    var given = 0
    var taken = 0
    // The bytes repeat every possible beginning of a delimiter.
    for byte in Array(("\r\n--" + boundary + "-y").utf8) * 20 {
      [byte].withUnsafeBytes { machine.append($0) }
      given += 1
      while case .body(let bytes)? = try machine.next() { taken += bytes.count }
      #expect(given - taken <= boundary.utf8.count + 5)
    }
  }

  @Test("A boundary has 1 to 70 characters of RFC 2046, and is quoted if a parameter requires it")
  func boundaries() throws {
    #expect(MultipartBoundary("") == nil)
    #expect(MultipartBoundary("a ") == nil)
    #expect(MultipartBoundary("a\"b") == nil)
    #expect(MultipartBoundary(reading: "a\"b") != nil)
    #expect(MultipartBoundary(reading: "a\r\nb") == nil)
    #expect(MultipartBoundary(String(repeating: "a", count: 71)) == nil)
    #expect(MultipartBoundary(String(repeating: "a", count: 70)) != nil)
    #expect(MultipartBoundary("a b")?.parameter == "\"a b\"")
    #expect(MultipartBoundary("a:b")?.parameter == "\"a:b\"")
    #expect(MultipartBoundary("a-b")?.parameter == "a-b")
    var word: UInt64 = 0
    let drawn = MultipartBoundary(drawnFrom: {
      word &+= 0x9E37_79B9_7F4A_7C15
      return word
    })
    #expect(drawn.text.utf8.count == 31 && drawn.text.hasPrefix("lastro-") && drawn.parameter == drawn.text)
    #expect(word == 0x9E37_79B9_7F4A_7C15 &* 3)
  }
}

extension [UInt8] {
  fileprivate static func * (bytes: Self, count: Int) -> Self { Array(repeatElement(bytes, count: count).joined()) }
}
