// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import Foundation
import TestSupport
import Testing

@testable import LastroWire

@Suite("Structured fields", .ownThread)
struct StructuredFieldTests {
  static let files = [
    "binary", "boolean", "date", "dictionary", "display-string", "examples", "item", "key-generated",
    "large-generated", "list", "listlist", "number-generated", "number", "param-dict", "param-list", "param-listlist",
    "string-generated", "string", "token-generated", "token",
  ]

  @Test("The suite of the HTTP working group passes completely", arguments: files)
  func suite(file: String) throws {
    let data = try ConformanceData.file("structured-fields/\(file).json")
    let cases = try JSONDecoder().decode([Case].self, from: data)
    #expect(!cases.isEmpty)
    for entry in cases {
      let read = Self.read(entry.raw.joined(separator: ", "), entry.header_type)
      if entry.must_fail == true {
        #expect(read == nil, "\(entry.name)")
      } else if read != nil || entry.can_fail != true {
        #expect(read == entry.expected?.text, "\(entry.name)")
      }
    }
  }

  private struct Case: Decodable {
    var name: String
    var raw: [String]
    var header_type: String
    var expected: JSON?
    var must_fail: Bool?
    var can_fail: Bool?
  }

  private indirect enum JSON: Decodable {
    case truth(Bool)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Bool.self) {
        self = .truth(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else if let value = try? container.decode(String.self) {
        self = .text(value)
      } else if let value = try? container.decode([JSON].self) {
        self = .list(value)
      } else {
        self = .object(try container.decode([String: JSON].self))
      }
    }

    var text: String {
      switch self {
      case .truth(let value): return "\(value)"
      case .number(let value): return "#\(value)"
      case .text(let value): return StructuredFieldTests.quoted(value)
      case .list(let values): return "[" + values.map(\.text).joined(separator: ",") + "]"
      case .object(let members):
        guard case .text(let type) = members["__type"], let value = members["value"] else { return "?" }
        return "{\(type):\(value.text)}"
      }
    }
  }

  /// Reads a value, and returns its text in the suite's form, with numbers by value.
  private static func read(_ raw: String, _ type: String) -> String? {
    switch type {
    case "item": StructuredReader.item(raw.utf8).map(text)
    case "list": StructuredReader.list(raw.utf8).map { "[" + $0.map(text).joined(separator: ",") + "]" }
    default:
      StructuredReader.dictionary(raw.utf8).map { dictionary in
        "["
          + dictionary.names.map { name in "[\(quoted(name)),\(dictionary[name].map(text) ?? "")]" }.joined(
            separator: ",") + "]"
      }
    }
  }

  private static func text(_ member: StructuredMember) -> String {
    let parameters = member.parameters.names.map { name in
      "[\(quoted(name)),\(member.parameters[name].map(text) ?? "")]"
    }
    let content =
      switch member.content {
      case .item(let value): text(value)
      case .list(let members): "[" + members.map(text).joined(separator: ",") + "]"
      }
    return "[\(content),[" + parameters.joined(separator: ",") + "]]"
  }

  private static func text(_ value: StructuredValue) -> String {
    switch value {
    case .integer(let number): "#\(Double(number))"
    case .decimal(let thousandths): "#\(Double(thousandths) / 1000)"
    case .string(let text): quoted(text)
    case .token(let text): "{token:\(quoted(text))}"
    case .bytes(let bytes): "{binary:\(quoted(base32(bytes)))}"
    case .boolean(let truth): "\(truth)"
    case .date(let seconds): "{date:#\(Double(seconds))}"
    case .displayString(let text): "{displaystring:\(quoted(text))}"
    }
  }

  fileprivate static func quoted(_ text: String) -> String {
    "\"" + text.unicodeScalars.map { "\($0.value)" }.joined(separator: ".") + "\""
  }

  /// Encodes in base32 (RFC 4648 §6), with padding.
  private static func base32(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    var (bits, count, text) = (UInt64(0), 0, "")
    for byte in bytes {
      bits = bits << 8 | UInt64(byte)
      count += 8
      while count >= 5 {
        count -= 5
        text.append(alphabet[Int(bits >> UInt64(count) & 31)])
      }
    }
    if count > 0 { text.append(alphabet[Int(bits << UInt64(5 - count) & 31)]) }
    return text + String(repeating: "=", count: (8 - text.count % 8) % 8)
  }

  @Test("Integers and decimals are distinguished, and a decimal keeps its three digits")
  func numbers() {
    #expect(StructuredReader.item("1".utf8)?.value == .integer(1))
    #expect(StructuredReader.item("1.0".utf8)?.value == .decimal(thousandths: 1_000))
    #expect(StructuredReader.item("-0.05".utf8)?.value == .decimal(thousandths: -50))
    #expect(StructuredReader.item("999999999999.999".utf8)?.value == .decimal(thousandths: 999_999_999_999_999))
  }

  @Test("Arbitrary bytes, cut anywhere, yield a value or nothing")
  func hostile() {
    let whole = Array("a=(1 \"x\\\"\";p=:YWJj:);q, b=?0, c=@12, d=%\"%c3%bc\", e=*t/1;x=1.5".utf8)
    #expect(StructuredReader.dictionary(whole)?.names == ["a", "b", "c", "d", "e"])
    for length in 0...whole.count { _ = StructuredReader.dictionary(whole.prefix(length)) }
    for index in whole.indices {
      for byte in UInt8.min ... .max {
        var bytes = whole
        bytes[index] = byte
        _ = StructuredReader.dictionary(bytes)
        _ = StructuredReader.list(bytes)
        _ = StructuredReader.item(bytes)
      }
    }
  }

  @Test("Members beyond the minimum that RFC 9651 requires are not read")
  func limits() {
    func list(_ count: Int) -> String { Array(repeating: "1", count: count).joined(separator: ",") }
    #expect(StructuredReader.list(list(1024).utf8)?.count == 1024)
    #expect(StructuredReader.list(list(1025).utf8) == nil)
    let nested = Array(repeating: "(" + Array(repeating: "1", count: 1024).joined(separator: " ") + ")", count: 1024)
    #expect(StructuredReader.list(nested.joined(separator: ",").utf8)?.count == 1024)
    #expect(StructuredReader.list("(\(String(repeating: "1 ", count: 1025)))".utf8) == nil)
  }

  /// Returns a second reader: the grammar of RFC 9651 as one regular expression for a list. It omits display strings,
  /// which must also be valid UTF-8.
  private static func grammar() throws -> Regex<AnyRegexOutput> {
    let integer = #"-?[0-9]{1,15}(?![0-9.])"#
    let number = #"-?[0-9]{1,12}\.[0-9]{1,3}|@?"# + integer
    let text = #""(?:[ !#-\[\]-~]|\\["\\])*"|\?[01]"#
    let base64 = ":(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?:"
    let bare = "(?:" + number + "|" + text + "|" + base64 + #"|[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*)"#
    let parameters = #"(?:; *[a-z*][a-z0-9_\-.*]*(?:="# + bare + ")?)*"
    let item = bare + parameters
    let member = "(?:" + item + #"|\( *(?:"# + item + "(?: +" + item + #")*)? *\)"# + parameters + ")"
    return try Regex("^ *(?:" + member + "(?:[ \\t]*,[ \\t]*" + member + ")*[ \\t]*)?$")
  }

  @Test("Thousands of mutated lists are accepted exactly if a second parser accepts them")
  func fuzz() throws {
    let grammar = try Self.grammar()
    let seeds = [
      #""burst";r=50;t=30"#, #""a";q=100;pk=:cHsdsRa894==:, "b";qu="c""#, "a;b=?1;c=1.5, *x:/y, @12",
      #""\"\\";x; y=-12"#, #"( a "b" );x=:YQ==:, (1;q 2)"#,
    ]
    let alphabet = Array("\"\\;,=:?*-.0123456789abAZ_ ()@\t\u{7f}é".utf8)
    var random = SeededGenerator(seed: 17)
    var read = 0
    for round in 0..<3_000 {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        let byte = alphabet[Int.random(in: alphabet.indices, using: &random)]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = byte
        case 1: bytes.insert(byte, at: place)
        default: if bytes.count > 1 { bytes.remove(at: place) }
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let isRead = StructuredReader.list(text.utf8) != nil
      if isRead { read += 1 }
      if isRead != (text.wholeMatch(of: grammar) != nil) {
        Issue.record("read: \(isRead), the grammar says otherwise: \(text)")
      }
    }
    #expect((600..<2_700).contains(read))
  }
}
