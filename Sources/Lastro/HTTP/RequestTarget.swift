// SPDX-License-Identifier: Apache-2.0

/// The parts of an absolute URL that a request's head has: scheme, authority, path with query. Checked on the raw text.
struct RequestTarget: Equatable {
  var scheme: String
  /// Host and port; the scheme's default port is left out.
  var authority: String
  /// Origin form without its query (RFC 9112 §3.2.1); at least `/`.
  var path: String
  /// As written, without the `?`.
  var query: String?

  init(_ url: String) throws(TransportError) {
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .refused(
        .invalidURL, "the URL has a space or a control character", hint: "percent-encode it: a space is %20")
    }
    guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else {
      throw .refused(.invalidURL, "the URL is not absolute", hint: "begin it with https:// or http://")
    }
    scheme = url[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw .refused(
        .unsupportedScheme, "the scheme \(scheme) is not supported", hint: "use https or http")
    }
    var rest = url[url.index(colon, offsetBy: 3)...]
    if let hash = rest.firstIndex(of: "#") { rest = rest[..<hash] }
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "\\" } ?? rest.endIndex
    authority = try Self.authority(rest[..<end], scheme: scheme)
    rest = rest[end...]
    if let mark = rest.firstIndex(of: "?") {
      query = PercentEncoding.encode(rest[rest.index(after: mark)...], keepsTriplets: true, where: ByteClass.isQuery)
      rest = rest[..<mark]
    }
    path = PercentEncoding.encode(rest, keepsTriplets: true, where: ByteClass.isPath)
    if path.isEmpty { path = "/" }
    guard path.hasPrefix("/") else {
      throw .refused(.invalidURL, "the URL has a backslash behind the host", hint: "write / instead")
    }
  }

  /// Path and query as they stand in the head.
  var text: String { query.map { "\(path)?\($0)" } ?? path }

  /// Canonical host and port.
  static func authority(_ text: Substring, scheme: String) throws(TransportError) -> String {
    guard !text.utf8.contains(0x40) else {
      throw .refused(
        .invalidURL, "the URL holds user information",
        hint: "URLs end up in logs: send credentials in a header field instead")
    }
    let (rawHost, rawPort) = try split(text)
    let host = try canonicalHost(rawHost)
    guard let rawPort, !rawPort.isEmpty else { return host }
    guard rawPort.utf8.allSatisfy(ByteClass.isDigit), let port = Int(rawPort), (1...65_535).contains(port) else {
      throw .refused(.invalidURL, "the port is no number between 1 and 65535")
    }
    return port == (scheme == "https" ? 443 : 80) ? host : "\(host):\(port)"
  }

  private static func split(_ text: Substring) throws(TransportError) -> (host: Substring, port: Substring?) {
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else {
        throw .refused(.invalidURL, "the IPv6 address has no closing bracket")
      }
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else {
        throw .refused(.invalidURL, "something other than a port follows the IPv6 address")
      }
      return (text[...end], rest.isEmpty ? nil : rest.dropFirst())
    }
    guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
    return (text[..<colon], text[text.index(after: colon)...])
  }

  /// Lower case; percent-encoded UTF-8 undone, so that the engine can turn it into A-labels.
  private static func canonicalHost(_ text: Substring) throws(TransportError) -> String {
    let failure = TransportError.refused(
      .invalidURL, text.isEmpty ? "the URL has no host" : "the host has characters a host cannot have")
    guard let host = PercentEncoding.decode(text)?.lowercased(), !host.isEmpty else { throw failure }
    if host.hasPrefix("[") {
      let inner = host.dropFirst().dropLast().utf8
      guard inner.contains(0x3A), inner.allSatisfy({ ByteClass.isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }) else {
        throw failure
      }
      return host
    }
    guard host.utf8.allSatisfy({ ByteClass.isUnreserved($0) || $0 >= 0x80 }), host != ".", !host.hasPrefix("..") else {
      throw failure
    }
    return host
  }
}
