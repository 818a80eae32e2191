// SPDX-License-Identifier: Apache-2.0

/// A list of strings with parameters, of structured fields (RFC 9651 §3.1): all that the `RateLimit` fields are.
struct StructuredList {
  /// A bare item.
  enum Value: Hashable {
    case integer(Int64)
    case decimal(Double)
    case string(String)
    case token(String)
    case boolean(Bool)
    /// The base64 between the colons, which is compared and never decoded.
    case bytes(String)
  }

  struct Item: Hashable {
    var value: Value
    /// The last of each name counts.
    var parameters: [String: Value] = [:]
  }

  /// More is not read: servers have a handful of policies.
  private static let maximumItems = 64

  private var bytes: ArraySlice<UInt8>

  /// The items; `nil` where the text breaks the grammar, for then all of it is ignored.
  static func items(_ text: String) -> [Item]? {
    var reader = Self(bytes: Array(text.utf8)[...])
    return reader.list()
  }

  private mutating func list() -> [Item]? {
    var items: [Item] = []
    skip { $0 == 0x20 }
    while !bytes.isEmpty {
      guard let item = item(), items.count < Self.maximumItems else { return nil }
      items.append(item)
      skip { $0 == 0x20 || $0 == 0x09 }
      if bytes.isEmpty { return items }
      guard take(",") else { return nil }
      skip { $0 == 0x20 || $0 == 0x09 }
      // A comma at the end is an error.
      if bytes.isEmpty { return nil }
    }
    return items
  }

  private mutating func item() -> Item? {
    guard let value = value() else { return nil }
    var item = Item(value: value)
    while take(";") {
      skip { $0 == 0x20 }
      guard let name = name() else { return nil }
      guard take("=") else {
        item.parameters[name] = .boolean(true)
        continue
      }
      guard let value = self.value() else { return nil }
      item.parameters[name] = value
    }
    return item
  }

  private mutating func value() -> Value? {
    guard let first = bytes.first else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: ":"): return byteSequence()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "*"):
      return .token(text { Self.isTokenByte($0) })
    default: return nil
    }
  }

  private mutating func name() -> String? {
    guard let first = bytes.first, first == UInt8(ascii: "*") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
    else { return nil }
    return text {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || Self.isDigit($0) || Self.isOne($0, of: "_-.*")
    }
  }

  private mutating func number() -> Value? {
    let sign: Int64 = take("-") ? -1 : 1
    let whole = text(Self.isDigit)
    guard !whole.isEmpty, whole.utf8.count <= 15, let number = Int64(whole) else { return nil }
    guard take(".") else { return .integer(sign * number) }
    let fraction = text(Self.isDigit)
    guard whole.utf8.count <= 12, (1...3).contains(fraction.utf8.count), let decimal = Double("\(whole).\(fraction)")
    else { return nil }
    return .decimal(Double(sign) * decimal)
  }

  private mutating func string() -> Value? {
    bytes.removeFirst()
    var result: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: result, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = bytes.popFirst(), Self.isOne(escaped, of: "\"\\") else { return nil }
        result.append(escaped)
      case 0x20...0x7E: result.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func boolean() -> Value? {
    bytes.removeFirst()
    if take("1") { return .boolean(true) }
    return take("0") ? .boolean(false) : nil
  }

  private mutating func byteSequence() -> Value? {
    bytes.removeFirst()
    let base64 = text { Self.isLetter($0) || Self.isDigit($0) || Self.isOne($0, of: "+/=") }
    return take(":") ? .bytes(base64) : nil
  }

  private mutating func take(_ sign: Unicode.Scalar) -> Bool {
    guard bytes.first == UInt8(ascii: sign) else { return false }
    bytes.removeFirst()
    return true
  }

  private mutating func skip(_ isSkipped: (UInt8) -> Bool) { bytes = bytes.drop(while: isSkipped) }

  private mutating func text(_ belongs: (UInt8) -> Bool) -> String {
    let found = bytes.prefix(while: belongs)
    bytes = bytes.dropFirst(found.count)
    return String(decoding: found, as: UTF8.self)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }

  private static func isOne(_ byte: UInt8, of signs: String) -> Bool { signs.utf8.contains(byte) }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || isOne(byte, of: "!#$%&'*+-.^_`|~:/")
  }
}
