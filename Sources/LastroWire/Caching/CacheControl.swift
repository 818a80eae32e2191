// SPDX-License-Identifier: Apache-2.0

/// What `Cache-Control` says, in an answer or a request (RFC 9111 §5.2).
///
/// Unknown directives are ignored. Of those that are repeated the first counts. A number that is none, or is negative,
/// counts as zero: of all readings of it that is the one that reuses least (§4.2.1).
package struct CacheControl: Sendable, Hashable {
  /// What is more than the RFC's 2^31 is as much (§1.2.2).
  package static let maximumSeconds: Int64 = 1 << 31

  private enum Argument: Hashable {
    case missing
    case text(String)
    /// Not by the grammar, such as with blanks around `=`.
    case malformed
  }

  private var directives: [String: Argument] = [:]

  /// Reads the values of all lines of the field.
  package init(_ lines: [String]) {
    for line in lines {
      for part in DirectiveList.parts(of: line) { read(part) }
    }
  }

  /// Of a head's fields.
  package init(_ fields: CacheFields) { self.init(fields.values("cache-control")) }

  package var noStore: Bool { has("no-store") }
  /// Also with names of fields: then the whole answer is validated, which the RFC allows (§5.2.2.4).
  package var noCache: Bool { has("no-cache") }
  package var mustRevalidate: Bool { has("must-revalidate") }
  package var proxyRevalidate: Bool { has("proxy-revalidate") }
  package var mustUnderstand: Bool { has("must-understand") }
  package var isPublic: Bool { has("public") }
  package var isPrivate: Bool { has("private") }
  /// RFC 8246.
  package var isImmutable: Bool { has("immutable") }
  package var onlyIfCached: Bool { has("only-if-cached") }
  package var maxAge: Int64? { seconds("max-age") }
  package var sharedMaxAge: Int64? { seconds("s-maxage") }
  package var minFresh: Int64? { seconds("min-fresh") }
  /// RFC 5861 §3.
  package var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }
  /// RFC 5861 §4.
  package var staleIfError: Int64? { seconds("stale-if-error") }
  /// How many seconds behind its lifetime an answer may be; without a number it is any.
  package var maxStale: Int64? {
    directives["max-stale"] == .missing ? Self.maximumSeconds : seconds("max-stale")
  }

  /// Whether it says anything.
  package var isEmpty: Bool { directives.isEmpty }

  private func has(_ name: String) -> Bool { directives[name] != nil }

  private func seconds(_ name: String) -> Int64? {
    switch directives[name] {
    case nil: nil
    case .text(let text)?: Self.seconds(text) ?? 0
    case .missing?, .malformed?: 0
    }
  }

  /// Digits alone, also very many of them; `nil` for anything else.
  package static func seconds(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return min(Int64(text) ?? maximumSeconds, maximumSeconds)
  }

  private mutating func read(_ part: Substring) {
    let bytes = part.utf8
    let equals = bytes.firstIndex(of: UInt8(ascii: "="))
    let name = part[..<(equals ?? part.endIndex)]
    let trimmed = name.prefix { $0 != " " && $0 != "\t" }
    guard !trimmed.isEmpty, trimmed.utf8.allSatisfy(FieldSyntax.isToken) else { return }
    let key = trimmed.lowercased()
    guard directives[key] == nil else { return }
    guard let equals else {
      directives[key] = .missing
      return
    }
    let argument = part[part.index(after: equals)...]
    directives[key] = trimmed.utf8.count == name.utf8.count ? Self.argument(argument) : .malformed
  }

  private static func argument(_ text: Substring) -> Argument {
    if let quoted = DirectiveList.unquoted(text) { return .text(quoted) }
    return !text.isEmpty && text.utf8.allSatisfy(FieldSyntax.isToken) ? .text(String(text)) : .malformed
  }
}
