// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroWire
import Testing

/// The ToASCII cases of web-platform-tests, including Unicode's IdnaTestV2, read as ``HostName`` reads them.
@Suite("ToASCII of web-platform-tests")
struct IDNAConformanceTests {
  struct Case: Decodable {
    var input: String
    var output: String?
    var comment: String?

    /// The expected canonical host, without the final dot.
    var expected: String? {
      guard let output, output.utf8.last == UInt8(ascii: "."), output.utf8.count > 1 else { return output }
      return String(output.dropLast())
    }
  }

  /// The reason for which we refuse a host that the standard accepts. The first applicable reason counts.
  enum Refusal: Hashable {
    /// The URL standard accepts all ASCII. The label begins with `xn--`, but encodes text that breaks UTS 46, or no
    /// text.
    case brokenALabel
    case emptyLabel
    case longerThanDNSHas
    /// The host has characters that are mapped to others or to none, or dots other than the full stop.
    case mapping
    /// The host has a symbol; IDNA 2008 allows letters, marks and digits only.
    case symbol
    /// The host has conjoining Hangul, which IDNA 2008 forbids (RFC 5892 §2.9).
    case conjoiningHangul
    case other

    init(_ item: Case, output: String) {
      let labels = output.split(separator: ".", omittingEmptySubsequences: false)
      let input = item.input.lowercased().unicodeScalars
      if Self.isBroken(item) {
        self = .brokenALabel
      } else if labels.contains("") {
        self = .emptyLabel
      } else if output.utf8.count > 253 || labels.contains(where: { $0.utf8.count > 63 }) {
        self = .longerThanDNSHas
      } else if input.contains(where: { $0.properties.changesWhenNFKCCaseFolded && !"ßς".unicodeScalars.contains($0) })
        || input.contains("。")
      {
        self = .mapping
      } else if input.contains(where: Self.isSymbol) || labels.contains(where: Self.encodesSymbol) {
        self = .symbol
      } else if input.contains(where: { 0x1100...0x11FF ~= $0.value }) {
        self = .conjoiningHangul
      } else {
        self = .other
      }
    }

    private static func isBroken(_ item: Case) -> Bool {
      let faults = (item.comment ?? "").split(separator: "; ").filter { !$0.hasSuffix("(ignored)") }
      if faults.contains(where: { ["V1", "V6", "V7", "C1", "C2", "P4"].contains($0) }) { return true }
      return ["xn--a", "xn--a.xn--zca", "xn--ls8h=", "xn--1ug.example", "xn--a-yoc", "xn--zn7c.com", "xn--0.com"]
        .contains(item.input)
    }

    private static func encodesSymbol(_ label: Substring) -> Bool {
      label.hasPrefix("xn--") && Self.decoded(label).contains(where: isSymbol)
    }

    private static func decoded(_ label: Substring) -> [Unicode.Scalar] {
      Punycode.decode(Array(label.utf8.dropFirst(4))) ?? []
    }

    private static func isSymbol(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: false
      default: scalar.isASCII ? !"-.".unicodeScalars.contains(scalar) : true
      }
    }
  }

  struct Tally: Equatable {
    var equal = 0
    var refusedByBoth = 0
    var refused: [Refusal: Int] = [:]
  }

  static func tally(_ file: String) throws -> Tally {
    // No String can hold a lone surrogate, so another character that no host may have replaces it.
    let text = String(decoding: try ConformanceData.file(file), as: UTF8.self)
      .replacing("a\\ud900z", with: "a\\ufffdz").replacing("A\\ud900Z", with: "A\\ufffdZ")
    var tally = Tally()
    for case .item(let item) in try JSONDecoder().decode([CommentOr<Case>].self, from: Data(text.utf8)) {
      let ours = try? HostName(item.input).text
      switch (ours, item.expected) {
      case (nil, nil): tally.refusedByBoth += 1
      case (let ours?, let expected?):
        #expect(ours == expected, "\(item.input.debugDescription)")
        tally.equal += 1
      case (let ours?, nil): Issue.record("\(item.input.debugDescription) must be refused and is read as \(ours)")
      case (nil, let expected?): tally.refused[Refusal(item, output: expected), default: 0] += 1
      }
    }
    return tally
  }

  @Test("IdnaTestV2: no name is converted differently, and no invalid name is accepted")
  func unicodeCases() throws {
    let tally = try Self.tally("url/IdnaTestV2.json")
    let refused: [Refusal: Int] = [
      .brokenALabel: 759, .emptyLabel: 65, .longerThanDNSHas: 44, .mapping: 149, .symbol: 129, .conjoiningHangul: 4,
    ]
    #expect(tally == Tally(equal: 404, refusedByBoth: 1117, refused: refused))
  }

  @Test("The URL standard's own cases: no name is converted differently, and no invalid name is accepted")
  func ownCases() throws {
    let tally = try Self.tally("url/toascii.json")
    let refused: [Refusal: Int] = [
      .brokenALabel: 7, .emptyLabel: 2, .longerThanDNSHas: 7, .mapping: 12, .symbol: 10,
    ]
    #expect(tally == Tally(equal: 30, refusedByBoth: 19, refused: refused))
  }
}
