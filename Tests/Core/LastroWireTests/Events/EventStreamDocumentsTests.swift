// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

/// Event streams, and the events that a reader must find in them (WHATWG HTML §9.2.6).
@Suite("Event stream documents", .timeLimit(.minutes(15)))
struct EventStreamDocumentsTests {
  @Test("A document is parsed in every split into two and byte by byte", arguments: all)
  func documents(document: Document) {
    let expected = EventStreamMachineTests.Outcome(
      events: document.events, lastEventID: document.lastEventID, retry: document.retry)
    let bytes = document.bytes
    #expect(EventStreamMachineTests.read([bytes]) == expected)
    #expect(EventStreamMachineTests.read(bytes.map { [$0] }) == expected)
    for split in 0...bytes.count {
      #expect(
        EventStreamMachineTests.read([Array(bytes[..<split]), [], Array(bytes[split...])]) == expected,
        "split at \(split)")
    }
  }

  struct Document: Sendable, CustomStringConvertible {
    var bytes: [UInt8]
    var events: [EventStreamMachine.Event]
    var lastEventID: String
    var retry: Int?

    var description: String { String(decoding: bytes, as: UTF8.self).debugDescription }
  }

  /// - Parameter id: the identifier at the end. Default: that of the last event.
  private static func document(
    _ bytes: [UInt8], _ events: [(String, String, String)], id: String? = nil, retry: Int? = nil
  ) -> Document {
    Document(
      bytes: bytes, events: events.map { .init(name: $0, data: $1, id: $2) }, lastEventID: id ?? events.last?.2 ?? "",
      retry: retry)
  }

  /// Returns a document of text whose events are messages without an identifier.
  private static func messages(_ text: String, _ data: String..., id: String? = nil, retry: Int? = nil) -> Document {
    document(Array(text.utf8), data.map { ("message", $0, "") }, id: id, retry: retry)
  }

  private static func events(
    _ text: String, _ events: (String, String, String)..., id: String? = nil, retry: Int? = nil
  ) -> Document { document(Array(text.utf8), events, id: id, retry: retry) }

  static let all = lines + marks + fields + identifiers + retries + wrongBytes

  private static let lines = [
    messages(""), messages("\n"), messages("\r\r\n\n"),
    messages("data: a\n\n", "a"), messages("data: a\r\n\r\n", "a"), messages("data: a\r\r", "a"),
    messages("data: a\n\r\n", "a"), messages("data: a\r\n\r", "a"), messages("data: a\r\n\n", "a"),
    messages("data: a\n\r", "a"), messages("data: a\rdata: b\r\rdata: c\r\r", "a\nb", "c"),
    messages("data: a\r\r\ndata: b\r\n\r\n", "a", "b"), messages("\r\n\r\ndata: a\n\n\n\ndata: b\n\n", "a", "b"),
    // A part that the end of the stream cuts off is dropped, including an event without its empty line.
    messages("data: a"), messages("data: a\n"), messages("data: a\n\ndata: b\n", "a"), messages("data: a\n\ndata", "a"),
    // Other Unicode line ends do not end a line here.
    messages("data: a\u{2028}b\u{85}c\u{0B}d\u{0C}e\n\n", "a\u{2028}b\u{85}c\u{0B}d\u{0C}e"),
    messages("data: a\u{0}b\n\n", "a\u{0}b"),
  ]

  private static let marks = [
    messages("\u{FEFF}data: a\n\n", "a"), messages("\u{FEFF}\u{FEFF}data: a\n\n"),
    messages("\u{FEFF}\ndata: a\n\n", "a"), messages("\u{FEFF}:\n\u{FEFF}data: a\n\n"), messages("\u{FEFF}"),
    messages("\ndata: a\u{FEFF}\n\n\u{FEFF}data: b\n\n", "a\u{FEFF}"), messages("data: \u{FEFF}\n\n", "\u{FEFF}"),
    messages("\u{FEFF}\r\ndata: a\r\n\r\n", "a"),
  ]

  private static let fields = [
    messages("data: a\ndata: b\ndata\ndata: c\n\n", "a\nb\n\nc"), messages("data\n\n", ""), messages("data:\n\n", ""),
    messages("data\ndata\n\n", "\n"), messages("data:\ndata:\n\n", "\n"), messages("data: \n\n", ""),
    messages("data:a\ndata:  b\ndata:\tc\n\n", "a\n b\n\tc"), messages("data : a\n\n"), messages(" data: a\n\n"),
    messages("Data: a\nDATA: b\n\n"), messages("data: a:b: c\n\n", "a:b: c"), messages("datas: a\ndat: b\n\n"),
    messages(": a comment\n:\n::\ndata: a\n: another\n\n", "a"), messages(":data: a\n\n"),
    messages("what: ever\nfoo\ndata: a\n\n", "a"), messages("data: é\u{1F600}\n\n", "é\u{1F600}"),
    events("event: add\ndata: 1\n\ndata: 2\n\n", ("add", "1", ""), ("message", "2", "")),
    events("event: a\nevent: b\ndata\n\n", ("b", "", "")), events("event: a\nevent\ndata\n\n", ("message", "", "")),
    // The type of a block without data does not carry over to the next block.
    events("event: a\n\ndata: 1\n\n", ("message", "1", "")), events("data: 1\nevent:a b \n\n", ("a b ", "1", "")),
    events("Event: a\ndata\n\n", ("message", "", "")),
  ]

  private static let identifiers = [
    events("id: 1\ndata: a\n\ndata: b\n\n", ("message", "a", "1"), ("message", "b", "1")),
    events("id: 1\ndata: a\n\nid\ndata: b\n\n", ("message", "a", "1"), ("message", "b", "")),
    events("id: 1\ndata: a\n\nid:\ndata: b\n\n", ("message", "a", "1"), ("message", "b", "")),
    events("id: 1\ndata: a\n\nid: 2\u{0}3\ndata: b\n\n", ("message", "a", "1"), ("message", "b", "1")),
    events("id: 1\u{0}\n\ndata: a\n\n", ("message", "a", "")),
    // The identifier of a block without data counts. The identifier of a block that the end cuts off does not.
    events("id: 7\n\n", id: "7"), events("id: 7\n"), events("id: 1\nid: 2\ndata\n\n", ("message", "", "2")),
    events("id: 1\ndata: a\n\nid: 2\ndata: b\n", ("message", "a", "1"), id: "1"),
    events("id:  é \ndata\n\n", ("message", "", " é ")), events("ID: 1\ndata\n\n", ("message", "", "")),
    events("data: a\nid: 1\n\n", ("message", "a", "1")),
  ]

  private static let retries = [
    messages("retry: 1000\n", retry: 1000), messages("retry:0\n\n", retry: 0), messages("retry: 007\n", retry: 7),
    messages("retry: 1x\n"), messages("retry: x1\n"), messages("retry:\n"), messages("retry\n"),
    messages("retry: -1\n"), messages("retry: +1\n"), messages("retry: 1.5\n"), messages("retry:  5\n"),
    messages("retry: 5 \n"), messages("retry: \u{0661}\n"), messages("retry: 10\nretry: no\n", retry: 10),
    messages("retry: 10\nretry: 20\ndata: a\n\n", "a", retry: 20), messages("retry: 5"),
    messages("retry: 99999999999999999999999\n", retry: .max),
  ]

  private static func data(_ bytes: [UInt8]) -> [UInt8] { Array("data: ".utf8) + bytes + [0x0A, 0x0A] }

  private static let wrongBytes = [
    document(data([0xFF]), [("message", "\u{FFFD}", "")]),
    document(data([0xC3]), [("message", "\u{FFFD}", "")]),
    // The number of replacement characters follows the Encoding Standard: one for each part that cannot begin a scalar.
    document(data([0xF0, 0x9F, 0x98, 0x41]), [("message", "\u{FFFD}A", "")]),
    document(data([0xE2, 0x82]), [("message", "\u{FFFD}", "")]),
    document(data([0xF0, 0x80, 0x80, 0x41]), [("message", "\u{FFFD}\u{FFFD}\u{FFFD}A", "")]),
    document(data([0xC0, 0xAF]), [("message", "\u{FFFD}\u{FFFD}", "")]),
    document(data([0xED, 0xA0, 0x80]), [("message", "\u{FFFD}\u{FFFD}\u{FFFD}", "")]),
    document([0xFF, 0xFE] + data([0x61]), []),
    document(Array("id: ".utf8) + [0xE9, 0x0A] + data([0x61]), [("message", "a", "\u{FFFD}")]),
    document(Array("event: ".utf8) + [0xE9, 0x0A] + data([0x61]), [("\u{FFFD}", "a", "")]),
    // Half of a byte order mark is not a byte order mark.
    document([0xEF, 0xBB, 0x0A] + data([0x61]), [("message", "a", "")]),
    document([0xEF, 0xBB] + data([0x61]), []),
  ]
}
