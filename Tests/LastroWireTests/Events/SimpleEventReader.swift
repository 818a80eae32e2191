// SPDX-License-Identifier: Apache-2.0

@testable import LastroWire

/// A second reader, by the letter of WHATWG HTML §9.2.6: the whole text at once, lines by replacement, no limits.
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

  /// Those that have an end.
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
