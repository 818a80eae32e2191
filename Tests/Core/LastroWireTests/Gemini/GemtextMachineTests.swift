// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Gemtext")
struct GemtextMachineTests {
  typealias Line = GemtextMachine.Line

  static func lines(_ pieces: [[UInt8]], maximum: Int = 65_536) -> [Line] {
    var machine = GemtextMachine(maximumLineBytes: maximum)
    var lines: [Line] = []
    for piece in pieces { machine.consume(piece, into: &lines) }
    machine.finish(into: &lines)
    return lines
  }

  static let samples: [(String, [Line])] = [
    ("", []), ("a", [.text("a")]), ("a\n", [.text("a")]), ("a\r\n\r\nb", [.text("a"), .text(""), .text("b")]),
    ("\n", [.text("")]), ("\u{FEFF}# t\n\u{FEFF}x", [.heading(level: 1, text: "t"), .text("\u{FEFF}x")]),
    (
      "#a\n##  b \n###c\n#### d\n#",
      [
        .heading(level: 1, text: "a"), .heading(level: 2, text: "b"), .heading(level: 3, text: "c"),
        .heading(level: 3, text: "# d"), .heading(level: 1, text: ""),
      ]
    ),
    (
      "=> /x\n=>/y a label \n=>\t\tz\tw\n=>\n=> \n= > x",
      [
        .link(target: "/x", label: nil), .link(target: "/y", label: "a label"), .link(target: "z", label: "w"),
        .text("=>"), .text("=> "), .text("= > x"),
      ]
    ),
    ("* a\n*b\n*\n*  c", [.listItem("a"), .text("*b"), .text("*"), .listItem("c")]),
    ("> a\n>b\n>", [.quote("a"), .quote("b"), .quote("")]),
    (
      "```swift code\n# x\n=> y\n  ```\n``` end\nz",
      [
        .preformatStart("swift code"), .preformatted("# x"), .preformatted("=> y"), .preformatted("  ```"),
        .preformatEnd,
        .text("z"),
      ]
    ),
    ("```\na", [.preformatStart(nil), .preformatted("a"), .preformatEnd]),
    ("```", [.preformatStart(nil), .preformatEnd]),
    (" # a\n => b\né\u{1F600}\n\u{1B}[1m", [.text(" # a"), .text(" => b"), .text("é\u{1F600}"), .text("\u{1B}[1m")]),
    ("a\rb\r\r\n", [.text("a\rb\r")]),
  ]

  @Test("All kinds of lines are parsed in one piece, byte by byte and in every split", arguments: samples)
  func reading(text: String, expected: [Line]) {
    let bytes = Array(text.utf8)
    #expect(Self.lines([bytes]) == expected)
    #expect(Self.lines(bytes.map { [$0] }) == expected)
    for split in 0...bytes.count { #expect(Self.lines([Array(bytes[..<split]), Array(bytes[split...])]) == expected) }
  }

  @Test("Invalid UTF-8 is repaired")
  func repaired() {
    #expect(Self.lines([[0x61, 0xFF, 0x0A, 0xC3]]) == [.text("a\u{FFFD}"), .text("\u{FFFD}")])
  }

  @Test("A line that is too long is reported in pieces, cut between characters, without buffering more")
  func longLines() {
    let text = "# " + String(repeating: "é", count: 3000) + "\r\nb"
    let lines = Self.lines([Array(text.utf8)], maximum: 1024)
    #expect(lines.count == 7 && lines.last == .text("b"))
    var joined = ""
    for line in lines.dropLast() {
      switch line {
      case .heading(1, let text), .text(let text): joined += text
      default: Issue.record("\(line)")
      }
    }
    #expect(joined == String(repeating: "é", count: 3000))
    let exact = String(repeating: "x", count: 1024)
    #expect(Self.lines([Array((exact + "\n").utf8)], maximum: 1024) == [.text(exact)])
    #expect(Self.lines([Array((exact + "\r\n").utf8)], maximum: 1024) == [.text(exact)])
    let pre = "```\n" + exact + "# x\n```"
    #expect(
      Self.lines([Array(pre.utf8)], maximum: 1024)
        == [.preformatStart(nil), .preformatted(exact), .preformatted("# x"), .preformatEnd])
  }
}
