// SPDX-License-Identifier: Apache-2.0

/// A URL that could not be read, for messages.
enum RefusedURL {
  private static let maximumLength = 200

  /// Returns the URL without what may be secret in it, on one line, in ASCII.
  ///
  /// Nothing is known of the parts of a URL that breaks the rules: everything before an `@` counts as user information,
  /// and what stands in the place of a port and is no number as a password that lost its host.
  static func shown(_ url: String) -> String {
    let start = self.start(of: url)
    var rest = url[start...]
    var shown = String(url[..<start])
    if let at = rest.lastIndex(of: "@") {
      shown += Redaction.mask
      rest = rest[at...]
    }
    // A fragment is not sent, and may be a token.
    rest = rest.prefix { $0 != "#" }
    let authority = rest.prefix { !"/?".contains($0) }
    shown += self.authority(authority)
    shown += Redaction.standard.maskingQueryValues(ofURL: String(rest[authority.endIndex...]))
    let text = shown.escapedForDisplay
    return text.count > maximumLength ? "\(text.prefix(maximumLength))…" : text
  }

  /// The place behind the scheme, if there is one.
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
