// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("Second parser for event streams", .ownThread, .timeLimit(.minutes(15)))
struct SimpleEventReaderTests {
  @Test("There are at least sixty documents, and the second parser agrees on them")
  func secondReader() {
    #expect(EventStreamDocumentsTests.all.count >= 60)
    for document in EventStreamDocumentsTests.all {
      let reader = SimpleEventReader(document.bytes)
      #expect(reader.events == document.events, "\(document)")
      #expect(reader.lastEventID == document.lastEventID, "\(document)")
      #expect(reader.retry == document.retry, "\(document)")
    }
  }

  /// Fragments from which documents are built, chosen because readers differ on them.
  private static let words: [[UInt8]] =
    [
      "data", "event", "id", "retry", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "\r\r", "a", "42", "é", "\u{FEFF}",
      "\u{0}", "data: x\n", "id: 7\n", "event: e\n", "retry: 9\n", ":c\n", "\u{1F600}",
    ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80]]

  @Test(
    "A random document in random pieces is parsed as by the second parser", arguments: 0..<40)
  func drawn(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<250 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0..<60, using: &random) { bytes += Self.words.randomElement(using: &random) ?? [] }
      var pieces: [[UInt8]] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Int.random(in: 1...8, using: &random)
        pieces.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      let reader = SimpleEventReader(bytes)
      let expected = EventStreamMachineTests.Outcome(
        events: reader.events, lastEventID: reader.lastEventID, retry: reader.retry)
      #expect(EventStreamMachineTests.read(pieces) == expected, "seed \(seed): \(bytes)")
    }
  }
}

/// A second reader that follows the text of WHATWG HTML §9.2.6. It reads the whole text at once, finds lines by
/// replacement, and has no limits.
struct SimpleEventReader {
  private(set) var events: [EventStreamMachine.Event] = []
  private(set) var lastEventID = ""
  private(set) var retry: Int?

  init(_ bytes: [UInt8]) {
    var text = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
    if text.first == "\u{FEFF}" { text.removeFirst() }
    var (type, id): (String, String) = ("", "")
    var data: String?
    for line in Self.lines(text) {
      if line.isEmpty {
        lastEventID = id
        if let data { events.append(.init(name: type.isEmpty ? "message" : type, data: data, id: id)) }
        (type, data) = ("", nil)
        continue
      }
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      var value = parts.count > 1 ? Array(parts[1]) : []
      if value.first == " " { value.removeFirst() }
      switch Self.string(Array(parts[0])) {
      case "data": data = (data.map { $0 + "\n" } ?? "") + Self.string(value)
      case "event": type = Self.string(value)
      case "id" where !value.contains("\u{0}"): id = Self.string(value)
      case "retry" where !value.isEmpty && value.allSatisfy({ ("0"..."9").contains($0) }):
        retry = Int(Self.string(value)) ?? .max
      default: break
      }
    }
  }

  private static func string(_ scalars: [Unicode.Scalar]) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  /// Returns the terminated lines.
  private static func lines(_ text: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
    var normal: [Unicode.Scalar] = []
    for (index, scalar) in text.enumerated() {
      if scalar == "\r" {
        normal.append("\n")
      } else if scalar != "\n" || index == 0 || text[index - 1] != "\r" {
        normal.append(scalar)
      }
    }
    return normal.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(Array.init)
  }
}
