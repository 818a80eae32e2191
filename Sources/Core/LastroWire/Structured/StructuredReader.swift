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
        if reader.take("=") {
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
      guard take(",") else { return false }
      skip { $0 == 0x20 || $0 == 0x09 }
      if bytes.isEmpty { return false }
    }
  }

  private mutating func member() -> StructuredMember? {
    bytes.first == UInt8(ascii: "(") ? innerList() : item()
  }

  private mutating func innerList() -> StructuredMember? {
    _ = take("(")
    var items: [StructuredMember] = []
    while true {
      skip { $0 == 0x20 }
      if take(")") { return parameters().map { StructuredMember(.list(items), $0) } }
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
    while take(";") {
      skip { $0 == 0x20 }
      guard parameters.names.count < Self.maximumMembers, let name = key() else { return nil }
      guard take("=") else {
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

  mutating func take(_ sign: Unicode.Scalar) -> Bool {
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
