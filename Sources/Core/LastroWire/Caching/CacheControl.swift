// SPDX-License-Identifier: Apache-2.0

/// The directives of `Cache-Control` in a response or a request (RFC 9111 §5.2).
///
/// Unknown directives are ignored. The first of repeated directives counts. An invalid or negative number counts as the
/// number that allows the least reuse (§4.2.1): zero, or ``maximumSeconds`` for `min-fresh`.
package struct CacheControl: Sendable, Hashable {
  /// The maximum number of seconds: 2^31. Larger values are clamped to it (§1.2.2).
  package static let maximumSeconds: Int64 = 1 << 31

  private enum Argument: Hashable {
    case missing
    case text(String)
    /// The argument violates the grammar, for example because of blanks around `=`.
    case malformed
  }

  private var directives: [String: Argument] = [:]

  /// Parses the values of all lines of the field.
  package init(_ lines: [String]) {
    for line in lines {
      for part in DirectiveList.parts(of: line) { read(part) }
    }
  }

  /// Parses the `Cache-Control` fields of a head.
  package init(_ fields: CacheFields) { self.init(fields.values("cache-control")) }

  package var noStore: Bool { has("no-store") }
  /// Whether `no-cache` is present. With field names, the whole response is validated too, which the RFC allows
  /// (§5.2.2.4).
  package var noCache: Bool { has("no-cache") }
  package var mustRevalidate: Bool { has("must-revalidate") }
  package var proxyRevalidate: Bool { has("proxy-revalidate") }
  package var mustUnderstand: Bool { has("must-understand") }
  package var isPublic: Bool { has("public") }
  package var isPrivate: Bool { has("private") }
  /// Whether `immutable` is present (RFC 8246).
  package var isImmutable: Bool { has("immutable") }
  package var onlyIfCached: Bool { has("only-if-cached") }
  package var maxAge: Int64? { seconds("max-age") }
  package var sharedMaxAge: Int64? { seconds("s-maxage") }
  package var minFresh: Int64? { seconds("min-fresh", invalid: Self.maximumSeconds) }
  /// The argument of `stale-while-revalidate` (RFC 5861 §3).
  package var staleWhileRevalidate: Int64? { seconds("stale-while-revalidate") }
  /// The argument of `stale-if-error` (RFC 5861 §4).
  package var staleIfError: Int64? { seconds("stale-if-error") }
  /// The number of seconds by which a response may exceed its lifetime; `maximumSeconds`, which means any, if the
  /// directive has no argument.
  package var maxStale: Int64? {
    directives["max-stale"] == .missing ? Self.maximumSeconds : seconds("max-stale")
  }

  /// Whether there are no directives.
  package var isEmpty: Bool { directives.isEmpty }

  private func has(_ name: String) -> Bool { directives[name] != nil }

  private func seconds(_ name: String, invalid: Int64 = 0) -> Int64? {
    switch directives[name] {
    case nil: nil
    case .text(let text)?: Self.seconds(text) ?? invalid
    case .missing?, .malformed?: invalid
    }
  }

  /// Parses a number of digits of any length, clamped to `maximumSeconds`; `nil` for any other text.
  package static func seconds(_ text: String) -> Int64? {
    Int64(clampingDigits: text.utf8).map { min($0, maximumSeconds) }
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
