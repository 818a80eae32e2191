// SPDX-License-Identifier: Apache-2.0

/// Parses structured fields (RFC 9651 §4.2) strictly: any violation of the grammar invalidates the whole field.
///
/// The caller joins the lines of a field by commas.
package struct StructuredReader {
  /// The maximum number of members. RFC 9651 requires support for lists of 1024 members, and for inner lists of 256.
  private static let maximumMembers = 1024

  var bytes: ArraySlice<UInt8>

  private init(_ text: some Collection<UInt8>) { bytes = Array(text)[...] }

  /// Parses a list (§4.2.1); `nil` if the text is not a list.
  package static func list(_ text: some Collection<UInt8>) -> [StructuredMember]? {
    read(text) { reader in
      var members: [StructuredMember] = []
      let isWhole = reader.separated { reader in
        guard let member = reader.member(), members.count < maximumMembers else { return false }
        members.append(member)
        return true
      }
      return isWhole ? members : nil
    }
  }

  /// Parses a dictionary (§4.2.2); `nil` if the text is not a dictionary.
  package static func dictionary(_ text: some Collection<UInt8>) -> StructuredDictionary? {
    read(text) { reader in
      var dictionary = StructuredDictionary()
      let isWhole = reader.separated { reader in
        guard let name = reader.key() else { return false }
        var member: StructuredMember?
        if reader.skip("=") {
          member = reader.member()
        } else if let parameters = reader.parameters() {
          member = StructuredMember(.item(.boolean(true)), parameters)
        }
        guard let member, dictionary.names.count < maximumMembers else { return false }
        dictionary.set(name, member)
        return true
      }
      return isWhole ? dictionary : nil
    }
  }

  /// Parses an item (§4.2.3); `nil` if the text is not an item.
  package static func item(_ text: some Collection<UInt8>) -> StructuredMember? { read(text) { $0.item() } }

  private static func read<Value>(_ text: some Collection<UInt8>, _ body: (inout Self) -> Value?) -> Value? {
    var reader = Self(text)
    reader.skip { $0 == 0x20 }
    guard let value = body(&reader) else { return nil }
    reader.skip { $0 == 0x20 }
    return reader.bytes.isEmpty ? value : nil
  }

  /// Parses members separated by commas. A trailing comma is an error.
  private mutating func separated(_ member: (inout Self) -> Bool) -> Bool {
    guard !bytes.isEmpty else { return true }
    while true {
      guard member(&self) else { return false }
      skip { $0 == 0x20 || $0 == 0x09 }
      if bytes.isEmpty { return true }
      guard skip(",") else { return false }
      skip { $0 == 0x20 || $0 == 0x09 }
      if bytes.isEmpty { return false }
    }
  }

  private mutating func member() -> StructuredMember? {
    bytes.first == UInt8(ascii: "(") ? innerList() : item()
  }

  private mutating func innerList() -> StructuredMember? {
    _ = skip("(")
    var items: [StructuredMember] = []
    while true {
      skip { $0 == 0x20 }
      if skip(")") { return parameters().map { StructuredMember(.list(items), $0) } }
      guard items.count < Self.maximumMembers, let item = item() else { return nil }
      items.append(item)
      guard let next = bytes.first, next == 0x20 || next == UInt8(ascii: ")") else { return nil }
    }
  }

  private mutating func item() -> StructuredMember? {
    guard let value = value(), let parameters = parameters() else { return nil }
    return StructuredMember(.item(value), parameters)
  }

  private mutating func parameters() -> StructuredParameters? {
    var parameters = StructuredParameters()
    while skip(";") {
      skip { $0 == 0x20 }
      guard parameters.names.count < Self.maximumMembers, let name = key() else { return nil }
      guard skip("=") else {
        parameters.set(name, .boolean(true))
        continue
      }
      guard let value = value() else { return nil }
      parameters.set(name, value)
    }
    return parameters
  }

  private mutating func key() -> String? {
    guard let first = bytes.first, first == UInt8(ascii: "*") || Self.isLower(first) else { return nil }
    return text { Self.isLower($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }
  }

  // MARK: what the readers of values use

  mutating func skip(_ sign: Unicode.Scalar) -> Bool {
    guard bytes.first == UInt8(ascii: sign) else { return false }
    bytes.removeFirst()
    return true
  }

  mutating func skip(_ isSkipped: (UInt8) -> Bool) { bytes = bytes.drop(while: isSkipped) }

  mutating func text(_ belongs: (UInt8) -> Bool) -> String {
    let found = bytes.prefix(while: belongs)
    bytes = bytes.dropFirst(found.count)
    return String(decoding: found, as: UTF8.self)
  }

  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
  static func isLetter(_ byte: UInt8) -> Bool { isLower(byte | 0x20) }
}

extension StructuredReader {
  /// Parses a bare item (RFC 9651 §4.2.3.1). Its first character determines the type.
  mutating func value() -> StructuredValue? {
    guard let first = bytes.first else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: ":"): return byteSequence()
    case UInt8(ascii: "@"): return date()
    case UInt8(ascii: "%"): return displayString()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
    case UInt8(ascii: "*"): return .token(text(Self.isTokenByte))
    default: return Self.isLetter(first) ? .token(text(Self.isTokenByte)) : nil
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
  }

  /// Parses a number (§4.2.4). An integer has at most 15 digits; a decimal has at most 12 before the point and 3 after
  /// it.
  private mutating func number() -> StructuredValue? {
    let sign: Int64 = skip("-") ? -1 : 1
    let whole = text(Self.isDigit)
    guard (1...15).contains(whole.utf8.count), let number = Int64(whole) else { return nil }
    guard skip(".") else { return .integer(sign * number) }
    let fraction = text(Self.isDigit)
    let count = fraction.utf8.count
    guard whole.utf8.count <= 12, (1...3).contains(count), let part = Int64(fraction) else { return nil }
    let scale: Int64 = count == 1 ? 100 : count == 2 ? 10 : 1
    return .decimal(thousandths: sign * (number * 1000 + part * scale))
  }

  private mutating func string() -> StructuredValue? {
    bytes.removeFirst()
    var result: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: result, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = bytes.popFirst(), "\"\\".utf8.contains(escaped) else { return nil }
        result.append(escaped)
      case 0x20...0x7E: result.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func boolean() -> StructuredValue? {
    bytes.removeFirst()
    if skip("1") { return .boolean(true) }
    return skip("0") ? .boolean(false) : nil
  }

  private mutating func date() -> StructuredValue? {
    bytes.removeFirst()
    guard case .integer(let seconds) = number() else { return nil }
    return .date(seconds)
  }

  /// Parses a display string (§4.2.10): `%"`, then text with `%` and two lower-case hexadecimal digits, which must
  /// decode to UTF-8.
  private mutating func displayString() -> StructuredValue? {
    bytes.removeFirst()
    guard skip("\"") else { return nil }
    var result: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(validating: result, as: UTF8.self).map { .displayString($0) }
      case UInt8(ascii: "%"):
        guard let high = hexadecimalDigit(), let low = hexadecimalDigit() else { return nil }
        result.append(high << 4 | low)
      case 0x20...0x7E: result.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func hexadecimalDigit() -> UInt8? {
    switch bytes.popFirst() {
    case let digit? where Self.isDigit(digit): digit - UInt8(ascii: "0")
    case let digit? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// Parses a byte sequence (§4.2.7). Missing padding and non-zero padding bits are accepted, as §4.2.7 recommends.
  private mutating func byteSequence() -> StructuredValue? {
    bytes.removeFirst()
    let digits = bytes.prefix { $0 != UInt8(ascii: ":") }
    bytes = bytes.dropFirst(digits.count)
    guard skip(":") else { return nil }
    return Self.base64(digits).map { .bytes($0) }
  }

  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var digits = text
    while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits = digits.dropLast() }
    guard digits.count % 4 != 1, text.count == digits.count || text.count % 4 == 0 else { return nil }
    return Base64.decode(digits)
  }
}
