// SPDX-License-Identifier: Apache-2.0

internal import Lastro
private import LastroWire

/// A parser for Gemini URLs and references (RFC 3986).
enum GeminiURLReader {
  private struct Parts {
    var path: Substring
    var query: Substring?
    var fragment: Substring?

    /// Splits the text after the authority, or a whole relative reference.
    init(_ text: Substring) {
      var rest = text
      if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
        fragment = rest[rest.utf8.index(after: hash)...]
        rest = rest[..<hash]
      }
      if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
        query = rest[rest.utf8.index(after: mark)...]
        rest = rest[..<mark]
      }
      path = rest
    }
  }

  static func absolute(_ text: String) throws(GeminiError) -> GeminiURL {
    guard !text.isEmpty else { throw .invalidURL("the URL is empty", hint: "write gemini://host/path") }
    try check(text)
    var rest = text[...]
    if let (scheme, after) = scheme(of: rest) {
      let hasAuthority = after.utf8.starts(with: "//".utf8)
      // Without slashes, the text may be a host and its port.
      guard scheme == "gemini" || !hasAuthority && startsWithPort(after) else { throw unsupported(scheme) }
      guard scheme != "gemini" || hasAuthority else {
        throw .invalidURL("the URL has no host", hint: "write gemini://host/path")
      }
      if hasAuthority { rest = after }
    }
    if rest.utf8.starts(with: "//".utf8) { rest = rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...] }
    let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
    let authority = try authority(rest[..<end])
    return try url(authority, Parts(rest[end...]))
  }

  /// Returns `nil` for a reference with another scheme.
  static func resolve(_ reference: String, against base: GeminiURL) throws(GeminiError) -> GeminiURL? {
    // Trim only spaces: a tab is refused below.
    let reference = withoutSpaces(reference)
    if let (scheme, _) = scheme(of: reference[...]) {
      try check(reference)
      return scheme == "gemini" ? try absolute(reference) : nil
    }
    if reference.utf8.starts(with: "//".utf8) { return try absolute("gemini:\(reference)") }
    try check(reference)
    var parts = Parts(reference[...])
    let merged: String
    if parts.path.isEmpty {
      guard parts.query == nil else {
        parts.path = base.path[...]
        return try url(base.authority, parts, hidesPath: base.hidesPath)
      }
      return try GeminiURL(
        authority: base.authority, path: base.path, query: base.query,
        fragment: parts.fragment.map { $0.sanitized(keeping: .query) }, isSensitive: base.isSensitive,
        hidesPath: base.hidesPath)
    } else if parts.path.utf8.first == UInt8(ascii: "/") {
      merged = String(parts.path)
    } else {
      let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? base.path.startIndex
      merged = "\(base.path[..<slash])/\(parts.path)"
    }
    let hidesPath = base.hidesPath && parts.path.utf8.first != UInt8(ascii: "/")
    parts.path = merged[...]
    return try url(base.authority, parts, hidesPath: hidesPath)
  }

  private static func url(
    _ authority: GeminiHost, _ parts: Parts, hidesPath: Bool = false
  ) throws(GeminiError) -> GeminiURL {
    let path = parts.path.sanitized(keeping: .path)
    return try GeminiURL(
      authority: authority, path: path.isEmpty ? "/" : path.withoutDotSegments,
      query: parts.query.map { $0.sanitized(keeping: .query) },
      fragment: parts.fragment.map { $0.sanitized(keeping: .query) }, hidesPath: hidesPath)
  }

  private static func check(_ text: String) throws(GeminiError) {
    // A longer text cannot shrink enough. The limit also bounds the work on input from a server.
    guard text.utf8.count <= 4 * GeminiURL.maximumBytes else {
      throw GeminiError(
        stage: .request, code: .urlTooLong,
        message: "the URL has \(text.utf8.count) bytes, above the maximum of \(GeminiURL.maximumBytes)",
        hint: "shorten it"
      )
    }
    guard text.utf8.allSatisfy({ !$0.isControl }) else {
      throw .invalidURL("the URL has a control character", hint: "remove line ends and tabs")
    }
  }

  /// Returns the lower-case text before the first colon, if it may be a scheme, and the text after the colon.
  private static func scheme(of text: Substring) -> (String, Substring)? {
    guard let colon = text.utf8.firstIndex(where: { ":/?#[@".utf8.contains($0) }),
      text.utf8[colon] == UInt8(ascii: ":"), let first = text.utf8.first, first | 32 &- 97 < 26
    else { return nil }
    let name = text[..<colon]
    guard name.utf8.allSatisfy({ $0 | 32 &- 97 < 26 || $0.isDigit || "+-.".utf8.contains($0) }) else { return nil }
    return (name.lowercased(), text[text.utf8.index(after: colon)...])
  }

  /// Whether `host:` followed by this text is a host and its port instead of a scheme.
  private static func startsWithPort(_ text: Substring) -> Bool {
    let port = text.utf8.prefix { !"/?#".utf8.contains($0) }
    return port.allSatisfy(\.isDigit) && (!port.isEmpty || text.isEmpty)
  }

  private static func unsupported(_ scheme: String) -> GeminiError {
    GeminiError(
      stage: .request, code: .unsupportedScheme, message: "the scheme \(scheme.onOneLine.cut(to: 40)) is not gemini",
      hint: "a Gemini client fetches gemini:// URLs; open others with another program")
  }

  private static func authority(_ text: Substring) throws(GeminiError) -> GeminiHost {
    guard !text.utf8.contains(UInt8(ascii: "@")) else {
      throw .invalidURL(
        "the URL has user information in it, which Gemini forbids",
        hint: "remove the part before @; a client certificate identifies the client")
    }
    guard !text.isEmpty else { throw .invalidURL("the URL has no host", hint: "write gemini://host/path") }
    var host = text
    var port = Substring()
    let afterBracket = text.utf8.lastIndex(of: UInt8(ascii: "]")) ?? text.startIndex
    if let colon = text[afterBracket...].utf8.lastIndex(of: UInt8(ascii: ":")) {
      host = text[..<colon]
      port = text[text.utf8.index(after: colon)...]
    }
    return try GeminiHost(name(host), port: number(port))
  }

  private static func name(_ text: Substring) throws(GeminiError) -> HostName {
    do throws(ConfigurationError) {
      return try HostName(String(text))
    } catch {
      throw .invalidURL(error.message, hint: error.hint)
    }
  }

  private static func number(_ text: Substring) throws(GeminiError) -> Int {
    if text.isEmpty { return GeminiURL.defaultPort }
    guard text.utf8.count <= 5, text.utf8.allSatisfy(\.isDigit), let port = Int(text) else {
      // Text that is not a number may be a password, so it is not shown.
      let shown = text.utf8.allSatisfy(\.isDigit) ? "port \(text.prefix(20)) in the URL" : "the URL's port"
      throw .invalidURL("\(shown) is not a number from 1 to 65535", hint: "leave it out for 1965")
    }
    return port
  }

  private static func withoutSpaces(_ text: String) -> String {
    guard let first = text.utf8.firstIndex(where: { $0 != 0x20 }), let last = text.utf8.lastIndex(where: { $0 != 0x20 })
    else { return "" }
    return String(text[first...last])
  }
}
