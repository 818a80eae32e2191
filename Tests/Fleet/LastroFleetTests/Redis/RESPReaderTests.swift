// SPDX-License-Identifier: Apache-2.0

import Lastro
import PeerSupport
import Testing

@testable import LastroFleet

extension RESPValue {
  /// The value as the script of `HiredisPeer` writes it. It does not distinguish statuses from bulk strings.
  fileprivate var text: String {
    func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    return switch self {
    case .simple(let text): "$" + hexadecimal(text.utf8)
    case .error(let text): "-" + hexadecimal(text.utf8)
    case .integer(let number): ":\(number)"
    case .bulk(let bytes): "$" + hexadecimal(bytes)
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .null: "null"
    }
  }
}

@Suite("RESP2 replies", .timeLimit(.minutes(15)))
struct RESPReaderTests {
  private struct Outcome: Equatable {
    var replies: [RESPValue] = []
    var violation: RESPViolation?
  }

  private func read(_ pieces: [[UInt8]]) -> Outcome {
    var reader = RESPReader()
    var outcome = Outcome()
    for piece in pieces {
      do throws(RESPViolation) { try reader.read(piece, into: &outcome.replies) } catch {
        outcome.violation = error
        break
      }
    }
    return outcome
  }

  private static let replies: [(String, [RESPValue])] = [
    ("+OK\r\n", [.simple("OK")]),
    ("+\r\n", [.simple("")]),
    ("-NOSCRIPT No matching script.\r\n", [.error("NOSCRIPT No matching script.")]),
    (":0\r\n:-1\r\n:9223372036854775807\r\n", [.integer(0), .integer(-1), .integer(.max)]),
    ("$0\r\n\r\n", [.bulk([])]),
    ("$5\r\na\r\nbc\r\n", [.bulk(Array("a\r\nbc".utf8))]),
    ("$-1\r\n*-1\r\n", [.null, .null]),
    ("*0\r\n", [.array([])]),
    (
      "*3\r\n$-1\r\n*2\r\n*0\r\n+a\r\n-E\r\n:7\r\n",
      [.array([.null, .array([.array([]), .simple("a")]), .error("E")]), .integer(7)]
    ),
  ]

  @Test("Replies are the same however their bytes are split in two, and byte by byte")
  func splits() {
    for (text, expected) in Self.replies {
      let bytes = Array(text.utf8)
      for place in 0...bytes.count {
        let outcome = read([Array(bytes[..<place]), Array(bytes[place...])])
        #expect(outcome == Outcome(replies: expected), "\(text.debugDescription) at \(place)")
      }
      #expect(read(bytes.map { [$0] }) == Outcome(replies: expected), "\(text.debugDescription)")
    }
  }

  @Test("Invalid replies are refused, however they are split, and later bytes are not read")
  func violations() {
    let cases: [(String, RESPViolation)] = [
      ("?x\r\n", .unknownType(0x3F)), ("\r\n", .unknownType(13)), ("%1\r\n", .unknownType(0x25)),
      ("+a\nb\r\n", .brokenLine), ("+a\rb\r\n", .brokenLine), ("$1\r\nab\r\n", .brokenLine), ("$1\r\na\n", .brokenLine),
      (":\r\n", .invalidNumber), (":+1\r\n", .invalidNumber), (":01\r\n", .invalidNumber), (":-0\r\n", .invalidNumber),
      (":9223372036854775808\r\n", .invalidNumber), (":1 \r\n", .invalidNumber), ("$-2\r\n", .invalidNumber),
      ("*-2\r\n", .invalidNumber), ("$16777217\r\n", .largeReply), ("*2\r\n$9000000\r\n", .largeReply),
      ("*65537\r\n", .manyElements), ("*1\r\n*65536\r\n", .manyElements),
      (String(repeating: "*1\r\n", count: 9), .deepNesting),
    ]
    for (text, violation) in cases where violation != .largeReply || text.hasPrefix("$") {
      let bytes = Array(text.utf8)
      for place in 0...bytes.count {
        let outcome = read([Array(bytes[..<place]), Array(bytes[place...]), Array("+OK\r\n".utf8)])
        #expect(outcome == Outcome(violation: violation), "\(text.debugDescription) at \(place)")
      }
    }
  }

  @Test("The bytes of all parts of a reply count, and of each reply alone")
  func size() {
    let half = Array("$9000000\r\n".utf8) + [UInt8](repeating: 0x61, count: 9_000_000) + [13, 10]
    #expect(read([half, half]).replies.count == 2)
    let both = read([Array("*2\r\n".utf8) + half, Array("$9000000\r\n".utf8)])
    #expect(both == Outcome(violation: .largeReply))
    let line = read([Array("+".utf8) + [UInt8](repeating: 0x61, count: 65_537)])
    #expect(line == Outcome(violation: .longLine))
  }

  @Test("After a fault, each further call reports it")
  func afterFault() {
    var reader = RESPReader()
    var replies: [RESPValue] = []
    #expect(throws: RESPViolation.unknownType(0x21)) { try reader.read(Array("+a\r\n!".utf8), into: &replies) }
    #expect(throws: RESPViolation.unknownType(0x21)) { try reader.read(Array("+b\r\n".utf8), into: &replies) }
    #expect(replies == [.simple("a")])
  }

  @Test("Mutated replies are read like hiredis reads them, unless it accepts what RESP2 does not have")
  func hiredis() async throws {
    var generator = SplitMix(state: 5)
    var inputs: [[UInt8]] = Self.replies.map { Array($0.0.utf8) }
    let alphabet = Array("+-:$*0123456789\r\nab".utf8)
    for _ in 0..<4000 {
      var bytes = inputs[Int(generator.next() % UInt64(Self.replies.count))]
      for _ in 0...(generator.next() % 3) where !bytes.isEmpty {
        let place = Int(generator.next() % UInt64(bytes.count))
        switch generator.next() % 3 {
        case 0: bytes[place] = alphabet[Int(generator.next() % UInt64(alphabet.count))]
        case 1: bytes.remove(at: place)
        default: bytes.insert(alphabet[Int(generator.next() % UInt64(alphabet.count))], at: place)
        }
      }
      inputs.append(bytes)
    }
    let theirs = try await HiredisPeer.read(inputs)
    try #require(theirs.count == inputs.count)
    for (input, theirs) in zip(inputs, theirs) {
      let outcome = read([input])
      #expect(read(input.map { [$0] }) == outcome)
      let words = outcome.replies.map(\.text) + (outcome.violation == nil ? [] : ["error"])
      let ours = words.joined(separator: " ")
      // It reads a status or an error up to CR LF only when that has arrived, and sees a bare CR then; it looks at the
      // end of a bulk string only for its length; and it refuses a number before its line is complete.
      let isEarlier = ours == theirs + (theirs.isEmpty ? "error" : " error")
      let isLenient = outcome.violation == .brokenLine
      #expect(ours == theirs || isEarlier || isLenient, "\(String(decoding: input, as: UTF8.self).debugDescription)")
    }
  }
}

/// A generator with a fixed sequence.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
