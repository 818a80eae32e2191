// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Streams of JSON texts", .timeLimit(.minutes(5)))
struct JSONTextMachineTests {
  struct Outcome: Equatable {
    var texts: [String] = []
    var violation: JSONTextViolation?
  }

  private static func lines(_ pieces: [[UInt8]], maximum: Int) -> Outcome {
    var machine = JSONLinesMachine(maximumTextBytes: maximum)
    var outcome = Outcome()
    do throws(JSONTextViolation) {
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

  private static func sequence(_ pieces: [[UInt8]], maximum: Int) -> Outcome {
    var machine = JSONTextSequenceMachine(maximumTextBytes: maximum)
    var outcome = Outcome()
    do throws(JSONTextViolation) {
      for piece in pieces {
        machine.feed(piece)
        while let text = try machine.next() { outcome.texts.append(trimmed(text)) }
      }
      if let text = try machine.finish() { outcome.texts.append(trimmed(text)) }
    } catch {
      outcome.violation = error
    }
    return outcome
  }

  /// Returns the text without trailing blanks, which are allowed in JSON.
  private static func trimmed(_ text: [UInt8]) -> String {
    String(decoding: text.reversed().drop { [0x20, 0x0A, 0x0D, 0x09].contains($0) }.reversed(), as: UTF8.self)
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
    expectOutcome("12345678\n1", Outcome(texts: ["12345678", "1"]), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("12345678\r\n1", Outcome(texts: ["12345678\r", "1"]), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("12345678\r1\n", Outcome(violation: .tooLong(8)), maximum: 8) { Self.lines($0, maximum: $1) }
    expectOutcome("1\n123456789\n", Outcome(texts: ["1"], violation: .tooLong(8)), maximum: 8) {
      Self.lines($0, maximum: $1)
    }
    #expect(Self.lines([Array(repeating: 0x31, count: 9)], maximum: 8).violation == .tooLong(8))
  }

  @Test(
    "Each text of a sequence follows a separator, and its end is reported",
    arguments: [
      ("", [], nil), ("\u{1E}\u{1E}\n", [], nil), ("\u{1E}{\"a\":1}\n", ["{\"a\":1}"], nil),
      ("\u{1E}1\n\u{1E}true\n\u{1E}\"x\"\n", ["1", "true", "\"x\""], nil),
      ("\u{1E}\u{1E}{}\n\u{1E}\u{1E}[]\n\n", ["{}", "[]"], nil), ("\n\u{1E}{}\n", ["{}"], nil),
      // An LF within brackets or quotes does not end a text, and brackets within quotes do not close anything.
      ("\u{1E}{\n\"a\": [\n1\n]\n}\n", ["{\n\"a\": [\n1\n]\n}"], nil),
      ("\u{1E}{\"]}\\\"}\":\n2}\n", ["{\"]}\\\"}\":\n2}"], nil),
      ("\u{1E}\"\\\\\"\n\u{1E}1\n", ["\"\\\\\"", "1"], nil),
      // Texts that close themselves need no LF. Other texts may have been cut.
      ("\u{1E}{}\u{1E}[1]", ["{}", "[1]"], nil), ("\u{1E}1\u{1E}2\n", [], .truncated), ("\u{1E}true", [], .truncated),
      ("\u{1E}null ", ["null"], nil), ("\u{1E}12\t\u{1E}3\n", ["12", "3"], nil),
      ("\u{1E}{\"a\":", [], .truncated), ("\u{1E}{}\n\u{1E}\"x\u{1E}", ["{}"], .truncated),
      ("\u{1E}{\"a\":1\n\u{1E}{}\n", [], .truncated), ("{}\n", [], .outsideOfText),
      ("\u{1E}{}\n{}\n", ["{}"], .outsideOfText), ("\u{1E}]1\n", ["]1"], nil),
    ] as [(String, [String], JSONTextViolation?)])
  func sequences(text: String, expected: [String], violation: JSONTextViolation?) {
    expectOutcome(text, Outcome(texts: expected, violation: violation)) { Self.sequence($0, maximum: $1) }
  }

  @Test("A text is reported at its LF, before the next separator")
  func promptness() throws {
    var machine = JSONTextSequenceMachine(maximumTextBytes: 100)
    machine.feed(Array("\u{1E}{}\n".utf8))
    #expect(try machine.next() != nil)
  }

  @Test("A text of a sequence at the limit is accepted, and a longer one is refused")
  func longText() {
    expectOutcome("\u{1E}\"345678\"", Outcome(texts: ["\"345678\""]), maximum: 8) { Self.sequence($0, maximum: $1) }
    expectOutcome("\u{1E}\"3456789\"", Outcome(violation: .tooLong(8)), maximum: 8) { Self.sequence($0, maximum: $1) }
  }
}
