// SPDX-License-Identifier: Apache-2.0

import LastroWire

/// Serializes structured fields (RFC 9651 §4.1).
enum StructuredWriter {
  static func text(_ dictionary: StructuredDictionary, without left: String) -> String {
    dictionary.names.filter { $0 != left }.compactMap { name in
      dictionary[name].map { member in
        guard member.value == .boolean(true) else { return name + "=" + text(member) }
        return name + text(member.parameters)
      }
    }.joined(separator: ", ")
  }

  static func text(_ member: StructuredMember) -> String {
    let content =
      switch member.content {
      case .item(let value): text(value)
      case .list(let items): "(" + items.map { text($0) }.joined(separator: " ") + ")"
      }
    return content + text(member.parameters)
  }

  static func text(_ parameters: StructuredParameters) -> String {
    parameters.names.map { text($0, parameters[$0] ?? .boolean(true)) }.joined()
  }

  static func text(_ name: String, _ value: StructuredValue) -> String {
    ";" + name + (value == .boolean(true) ? "" : "=" + text(value))
  }

  static func text(_ value: StructuredValue) -> String {
    switch value {
    case .integer(let number): "\(number)"
    case .decimal(let thousandths): decimal(thousandths)
    case .string(let text):
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    case .token(let text): text
    case .bytes(let bytes): ":" + Base64.encode(bytes) + ":"
    case .boolean(let value): value ? "?1" : "?0"
    case .date(let seconds): "@\(seconds)"
    case .displayString(let text): "%\"" + text.utf8.map(displayed).joined() + "\""
    }
  }

  private static func decimal(_ thousandths: Int64) -> String {
    let (whole, part) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
    var digits = String(part + 1000).dropFirst()
    while digits.count > 1, digits.last == "0" { digits = digits.dropLast() }
    return (thousandths < 0 ? "-" : "") + "\(whole).\(digits)"
  }

  private static func displayed(_ byte: UInt8) -> String {
    guard !(0x20...0x7E).contains(byte) || byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\"") else {
      return String(UnicodeScalar(byte))
    }
    let digits = String(byte, radix: 16)
    return "%" + (digits.count < 2 ? "0" : "") + digits
  }
}
