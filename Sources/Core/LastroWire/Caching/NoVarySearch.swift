// SPDX-License-Identifier: Apache-2.0

/// The parts of a URL's query that do not affect the response, as declared in `No-Vary-Search`
/// (draft-ietf-httpbis-no-vary-search).
package struct NoVarySearch: Sendable, Hashable {
  private enum Ignored: Hashable {
    case these(Set<String>)
    case allBut(Set<String>)
  }

  private var ignored: Ignored
  private var ignoresOrder: Bool

  /// Parses the fields; `nil` if they are absent or invalid, so that the whole query counts.
  package init?(_ fields: CacheFields) {
    let text = fields.values("no-vary-search").joined(separator: ",")
    guard let told = StructuredReader.dictionary(text.utf8), !told.names.isEmpty else { return nil }
    ignoresOrder = false
    if let order = told["key-order"] {
      guard case .boolean(let isIgnored) = order.value else { return nil }
      ignoresOrder = isIgnored
    }
    switch (told["params"], told["except"]) {
    case (nil, nil): ignored = .these([])
    case (let names?, nil):
      if case .boolean(let all) = names.value {
        ignored = all ? .allBut([]) : .these([])
      } else {
        guard let names = Self.names(names) else { return nil }
        ignored = .these(names)
      }
    case (nil, let names?):
      guard let names = Self.names(names) else { return nil }
      ignored = .allBut(names)
    default: return nil
    }
    if ignored == .these([]), !ignoresOrder { return nil }
  }

  /// A text that identifies the rule: different rules have different texts.
  package var text: String {
    let (word, names) =
      switch ignored {
      case .these(let names): ("params", names)
      case .allBut(let names): ("except", names)
      }
    return "\(word)=(\(names.sorted().joined(separator: " "))) \(ignoresOrder)"
  }

  private static func names(_ member: StructuredMember) -> Set<String>? {
    guard case .list(let members) = member.content else { return nil }
    var names: Set<String> = []
    for member in members {
      guard case .string(let name) = member.value else { return nil }
      names.insert(canonical(name.utf8[...]))
    }
    return names
  }

  /// Returns a text that is the same for all URLs with the same response.
  package func canonical(_ url: String) -> String {
    let path = url.utf8.prefix { $0 != UInt8(ascii: "?") }
    let query = url.utf8.dropFirst(path.count + 1)
    var pairs = query.split(separator: UInt8(ascii: "&")).map { pair in
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      return (name: Self.canonical(name), value: Self.canonical(pair.dropFirst(name.count + 1)))
    }
    pairs.removeAll { pair in
      switch ignored {
      case .these(let names): names.contains(pair.name)
      case .allBut(let names): !names.contains(pair.name)
      }
    }
    if ignoresOrder {
      // Sort by name only, and keep the order of values of the same name, which may matter.
      pairs = pairs.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(\.element)
    }
    return "\(Substring(path))?" + pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }

  /// Decodes a name or a value as in a form, and encodes it in a canonical way.
  private static func canonical(_ text: Substring.UTF8View) -> String {
    var result: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      var byte = byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalValue,
        let low = rest.dropFirst().first?.hexadecimalValue
      {
        byte = high << 4 | low
        rest = rest.dropFirst(2)
      }
      let isPlain = byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte >= 0x30 && byte <= 0x39
      result += isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
