// SPDX-License-Identifier: Apache-2.0

import LastroWire

/// Reads the simple XML of S3: elements, text, the five entities and numeric references. A document type, and with it
/// every entity of its own, is refused.
struct XMLReader {
  /// An element with its text and children.
  struct Element {
    var name: String
    var text = ""
    var children: [Element] = []

    /// Returns the text of the first child of that name.
    subscript(_ name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [Element] { children.filter { $0.name == name } }

    /// Returns what a closure makes of the text of a child.
    ///
    /// - Throws: ``Violation`` if there is no such child, or the closure returns `nil`.
    func required<T>(_ name: String, as value: (String) -> T? = { $0 }) throws(Violation) -> T {
      guard let text = self[name], let value = value(text) else {
        throw Violation(description: "the XML has an element \(self.name) without a valid \(name)")
      }
      return value
    }

    /// Returns the marker of the next page; `nil` on the last one.
    ///
    /// - Throws: ``Violation`` if a page that is not the last one has no marker, which would end a loop over the pages
    ///   too early.
    func nextPage(_ name: String) throws(Violation) -> String? {
      guard self["IsTruncated"] == "true" else { return nil }
      return try required(name) { $0.isEmpty ? nil : $0 }
    }
  }

  /// A document that cannot be read.
  struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  private static let maximumBytes = 8 * 1024 * 1024
  private static let maximumDepth = 16
  private static let maximumElements = 100_000

  private var bytes: ArraySlice<UInt8>
  private var elements = 0

  /// Returns the root of a document.
  ///
  /// - Throws: ``Violation`` if the document is not well-formed, has a document type, or exceeds 8 MiB, 16 levels or
  ///   100,000 elements.
  static func root(of document: some Collection<UInt8>) throws(Violation) -> Element {
    guard document.count <= maximumBytes else { throw Violation(description: "the XML has more than 8 MiB") }
    var reader = Self(bytes: Array(document)[...])
    if reader.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.bytes = reader.bytes.dropFirst(3) }
    try reader.skipMisc()
    let root = try reader.element(depth: 1)
    try reader.skipMisc()
    guard reader.bytes.isEmpty else { throw malformed }
    return root
  }

  private static let malformed = Violation(description: "the XML is not well-formed")

  private func starts(with text: String) -> Bool { bytes.starts(with: text.utf8) }

  private mutating func skip(_ text: String) throws(Violation) {
    guard starts(with: text) else { throw Self.malformed }
    bytes = bytes.dropFirst(text.utf8.count)
  }

  private mutating func skipSpaces() { bytes = bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

  /// Returns the bytes before a mark, and skips both.
  private mutating func before(_ mark: String) throws(Violation) -> ArraySlice<UInt8> {
    guard let range = bytes.firstRange(of: Array(mark.utf8)) else { throw Self.malformed }
    defer { bytes = bytes[range.upperBound...] }
    return bytes[..<range.lowerBound]
  }

  /// Skips declarations, comments and spaces outside the root.
  private mutating func skipMisc() throws(Violation) {
    while true {
      skipSpaces()
      if starts(with: "<?") {
        _ = try before("?>")
      } else if starts(with: "<!--") {
        _ = try before("-->")
      } else if starts(with: "<!") {
        throw Violation(description: "the XML has a document type")
      } else {
        return
      }
    }
  }

  private mutating func name() throws(Violation) -> String {
    let found = bytes.prefix { byte in
      byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || ":_-.".utf8.contains(byte)
    }
    bytes = bytes.dropFirst(found.count)
    guard !found.isEmpty, let name = String(validating: found, as: UTF8.self) else { throw Self.malformed }
    return name
  }

  private mutating func element(depth: Int) throws(Violation) -> Element {
    elements += 1
    guard depth <= Self.maximumDepth, elements <= Self.maximumElements else {
      throw Violation(description: "the XML has too many elements")
    }
    try skip("<")
    var element = Element(name: try name())
    if try attributes() { return element }
    var text: [UInt8] = []
    while true {
      guard let byte = bytes.first else { throw Self.malformed }
      if byte == UInt8(ascii: "&") {
        text += Array(String(try reference()).utf8)
      } else if byte != UInt8(ascii: "<") {
        text.append(byte)
        bytes = bytes.dropFirst()
      } else if starts(with: "</") {
        try skip("</")
        guard try name() == element.name else { throw Self.malformed }
        skipSpaces()
        try skip(">")
        guard let text = String(validating: text, as: UTF8.self) else { throw Self.malformed }
        element.text = text
        return element
      } else if starts(with: "<!--") {
        _ = try before("-->")
      } else if starts(with: "<![CDATA[") {
        try skip("<![CDATA[")
        text += try before("]]>")
      } else if starts(with: "<?") {
        _ = try before("?>")
      } else {
        element.children.append(try self.element(depth: depth + 1))
      }
    }
  }

  /// Skips the attributes of a start tag and its end. Returns whether the element is empty.
  private mutating func attributes() throws(Violation) -> Bool {
    while true {
      skipSpaces()
      if starts(with: ">") {
        try skip(">")
        return false
      }
      if starts(with: "/>") {
        try skip("/>")
        return true
      }
      _ = try name()
      skipSpaces()
      try skip("=")
      skipSpaces()
      let quote = starts(with: "'") ? "'" : "\""
      try skip(quote)
      _ = try before(quote)
    }
  }

  private mutating func reference() throws(Violation) -> Character {
    try skip("&")
    guard let end = bytes.prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw Self.malformed }
    let name = String(decoding: bytes[..<end], as: UTF8.self)
    bytes = bytes[(end + 1)...]
    switch name {
    case "lt": return "<"
    case "gt": return ">"
    case "amp": return "&"
    case "quot": return "\""
    case "apos": return "'"
    default:
      let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
      guard name.hasPrefix("#"), let number, number > 0, let scalar = UnicodeScalar(number) else {
        throw Self.malformed
      }
      return Character(scalar)
    }
  }
}
