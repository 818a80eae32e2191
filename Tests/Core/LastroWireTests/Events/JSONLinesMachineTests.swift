// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("JSON Lines", .timeLimit(.minutes(15)))
struct JSONLinesMachineTests {
  struct Outcome: Equatable {
    var texts: [String] = []
    var violation: LineCutter.LineTooLong?
  }

  private static func lines(_ pieces: [[UInt8]], maximum: Int) -> Outcome {
    var machine = JSONLinesMachine(maximumTextBytes: maximum)
    var outcome = Outcome()
    do throws(LineCutter.LineTooLong) {
      for piece in pieces {
        machine.feed(piece)
        while let text = try machine.next() { outcome.texts.append(String(decoding: text, as: UTF8.self)) }
      }
      if let text = machine.finish() { outcome.texts.append(String(decoding: text, as: UTF8.self)) }
    } catch {
      outcome.violation = error
    }
    return outcome
  }

  private func expectOutcome(
    _ text: String, _ expected: Outcome, maximum: Int = 1000, _ read: ([[UInt8]], Int) -> Outcome
  ) {
    let bytes = Array(text.utf8)
    #expect(read([bytes], maximum) == expected)
    #expect(read(bytes.map { [$0] }, maximum) == expected)
    for split in 0...bytes.count {
      #expect(read([Array(bytes[..<split]), Array(bytes[split...])], maximum) == expected, "split at \(split)")
    }
  }

  @Test(
    "Lines end in LF or CRLF, the last may be unterminated, and empty ones are skipped",
    arguments: [
      ("", []), ("\n\r\n \t\r\n", []), ("1", ["1"]), ("1\n", ["1"]), ("{\"a\":1}\n[2]\n", ["{\"a\":1}", "[2]"]),
      ("1\r\n2\r\n", ["1\r", "2\r"]), ("\n\n1\n\n\n2", ["1", "2"]), ("\u{FEFF}1\n\u{FEFF}2\n", ["1", "\u{FEFF}2"]),
      ("1\r2\n", ["1\r2"]), (" {} \n", [" {} "]), ("{\"a\":\n1}\n", ["{\"a\":", "1}"]),
    ] as [(String, [String])])
  func lines(text: String, expected: [String]) {
    expectOutcome(text, Outcome(texts: expected)) { Self.lines($0, maximum: $1) }
  }

  @Test("A line at the limit is accepted, and a longer one is refused")
  func longLine() {
    let tooLong = LineCutter.LineTooLong(maximum: 8)
    expectOutcome("12345678\n1", Outcome(texts: ["12345678", "1"]), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("12345678\r\n1", Outcome(texts: ["12345678\r", "1"]), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("12345678\r1\n", Outcome(violation: tooLong), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("1\n123456789\n", Outcome(texts: ["1"], violation: tooLong), maximum: 8) {
      Self.lines($0, maximum: $1)
    }
    #expect(Self.lines([Array(repeating: 0x31, count: 9)], maximum: 8).violation == tooLong)
  }

  @Test("A line that arrives in many pieces is moved only when its buffer grows")
  func inPlace() throws {
    var machine = JSONLinesMachine(maximumTextBytes: 1 << 20)
    machine.feed([0x22])
    var moves = 0
    var place: UInt?
    for _ in 0..<4096 {
      machine.feed([UInt8](repeating: 0x61, count: 16))
      #expect(try machine.next() == nil)
      let current = Self.place(in: machine)
      if current != place { moves += 1 }
      place = current
    }
    #expect(moves > 0 && moves < 100)
    machine.feed([0x22, 0x0A])
    #expect(try machine.next()?.count == 2 + 16 * 4096)
  }

  /// Returns the address of the longest byte array within a value.
  private static func place(in value: Any) -> UInt? {
    var longest: [UInt8] = []
    func look(_ value: Any) {
      if let bytes = value as? [UInt8] {
        if bytes.count > longest.count { longest = bytes }
      } else {
        for child in Mirror(reflecting: value).children { look(child.value) }
      }
    }
    look(value)
    return longest.withUnsafeBufferPointer { $0.baseAddress.map(UInt.init(bitPattern:)) }
  }
}
