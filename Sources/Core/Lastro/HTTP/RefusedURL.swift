// SPDX-License-Identifier: Apache-2.0

/// Formats URLs that could not be parsed, for error messages.
enum RefusedURL {
  private static let maximumLength = 200

  /// Returns the URL on one line, in ASCII, with possible secrets masked.
  ///
  /// The parts of a malformed URL are uncertain. Everything before an `@` is therefore treated as user information. A
  /// port that is not a number is treated as a password whose host is missing.
  static func shown(_ url: String) -> String {
    let start = self.start(of: url)
    var rest = url[start...]
    var shown = String(url[..<start])
    if let at = rest.lastIndex(of: "@") {
      shown += Redaction.mask
      rest = rest[at...]
    }
    // The fragment is not sent, and may contain a token.
    rest = rest.prefix { $0 != "#" }
    let authority = rest.prefix { !"/?".contains($0) }
    shown += self.authority(authority)
    shown += Redaction.standard.maskingQueryValues(ofURL: String(rest[authority.endIndex...]))
    let text = shown.escapedForDisplay
    return text.count > maximumLength ? "\(text.prefix(maximumLength))…" : text
  }

  /// Returns the index after the scheme, or the start of the URL if it has no scheme.
  private static func start(of url: String) -> String.Index {
    let head = url.prefix { !"/?#".contains($0) }
    if head.hasSuffix(":"), url[head.endIndex...].hasPrefix("//") { return url.index(head.endIndex, offsetBy: 2) }
    let scheme = ["https:", "http:"].first { url.hasPrefix($0) } ?? ""
    return url.index(url.startIndex, offsetBy: scheme.count)
  }

  private static func authority(_ text: Substring) -> String {
    guard !text.hasPrefix("["), !text.hasPrefix("@["), let colon = text.firstIndex(of: ":") else { return String(text) }
    let port = text[text.index(after: colon)...]
    return port.utf8.allSatisfy(\.isDigit) ? String(text) : "\(text[...colon])\(Redaction.mask)"
  }
}
