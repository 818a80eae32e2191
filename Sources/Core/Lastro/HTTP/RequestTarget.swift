// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// The parts of an absolute URL that are sent: scheme, authority, path and query.
///
/// This is the only URL parser. It follows RFC 3986 with these rules:
///
/// - Only `http` and `https` URLs with a host are accepted. User information, control characters and spaces are
///   refused.
/// - The default port and an empty port are removed. Other ports must be in 1…65535.
/// - Host names are normalized as ``HostName`` does: lower case, international names in their `xn--` form. Characters
///   that normalization would replace by others (full-width digits, ideographic stops) are refused. Percent-encoding is
///   decoded. A final dot is kept. A host whose last label is a number must be an IPv4 address in the usual form:
///   `127.1` and `0x7f.0.0.1` are refused, because parsers disagree on the address that they denote.
/// - In path and query, characters that RFC 3986 allows are kept as written, including valid percent-encoding. All
///   others, including a stray `%`, are percent-encoded. Dot segments are not resolved.
/// - The fragment is removed.
package struct RequestTarget: Sendable, Hashable {
  /// The scheme: `http` or `https`.
  package var scheme: String
  /// The host, and the port unless it is the scheme's default.
  package var authority: String
  /// The percent-encoded path, which begins with `/`.
  package var path: String
  /// The percent-encoded query, without `?`; `nil` if the URL has no `?`.
  package var query: String?

  /// A placeholder for the host of the stack's base URL. No resolver resolves it (RFC 6761 §6.4), and no request is
  /// sent to it.
  static let stacksHost = "stack.invalid"
  /// A placeholder for the stack's base URL.
  static let stacksBase = "https://" + stacksHost

  /// The path and query, as HTTP's request target has them.
  package var pathAndQuery: String { query.map { path + "?" + $0 } ?? path }
}

extension RequestTarget {
  /// Parses an absolute URL.
  ///
  /// - Throws: stage `request`, code `invalid_url` or `unsupported_scheme`. The message ends with the URL, in which
  ///   user information and the values of the query are masked.
  package init(_ url: String) throws(TransportError) {
    do throws(TransportError) {
      try self.init(reading: url)
    } catch {
      throw error.naming(url)
    }
  }

  private init(reading url: String) throws(TransportError) {
    if let byte = url.firstByte(where: { $0.isControl || $0 == 0x20 }) {
      throw .invalidURL(
        "the URL has \(byte == 0x20 ? "a space" : "a control character") in it",
        hint: byte == 0x20 ? "write a space as %20" : "remove it, or percent-encode it")
    }
    if let plain = url.utf8.withContiguousStorageIfAvailable(Self.plain) ?? nil {
      self = plain
    } else {
      self = try Self.general(url)
    }
  }

  /// Parses a URL that may need normalization, which is slower. Control characters and spaces must have been refused
  /// before.
  package static func general(_ url: String) throws(TransportError) -> RequestTarget {
    var (scheme, rest) = try splitScheme(url)
    let authorityEnd = rest.utf8.firstIndex { [0x2F, 0x3F, 0x23].contains($0) } ?? rest.endIndex
    let authority = try Authority(rest[..<authorityEnd])
    rest = rest[authorityEnd...]
    if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
    var query: String?
    if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
      query = rest[rest.utf8.index(after: mark)...].sanitized(keeping: .query)
      rest = rest[..<mark]
    }
    return RequestTarget(
      scheme: scheme, authority: authority.text(defaultPort: scheme == "https" ? 443 : 80),
      path: rest.isEmpty ? "/" : rest.sanitized(keeping: .path), query: query)
  }

  private static func splitScheme(_ url: String) throws(TransportError) -> (String, Substring) {
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), isScheme(url.utf8[..<colon]) else {
      throw .invalidURL("the URL has no scheme", hint: "begin it with https:// or http://")
    }
    let scheme = url[..<colon].lowercased()
    let rest = url[url.utf8.index(after: colon)...]
    guard scheme == "http" || scheme == "https" else {
      guard rest.utf8.starts(with: "//".utf8) else {
        throw .invalidURL("the URL has no scheme", hint: "begin it with https:// or http://")
      }
      throw .refused(.unsupportedScheme, "the scheme \(scheme) is not supported", hint: "use https or http")
    }
    guard rest.utf8.starts(with: "//".utf8) else {
      throw .invalidURL("the URL has no host", hint: "write \(scheme)://HOST/PATH")
    }
    return (scheme, rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...])
  }

  private static func isScheme(_ bytes: Substring.UTF8View) -> Bool {
    guard let first = bytes.first, first.lowercasedASCII &- 97 < 26 else { return false }
    return bytes.allSatisfy { $0.lowercasedASCII &- 97 < 26 || $0.isDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }
  }
}

extension TransportError {
  /// Returns the error with the URL appended to its message.
  package func naming(_ url: String) -> Self {
    var error = self
    error.message += ": \"\(RefusedURL.shown(url))\""
    return error
  }

  /// Returns an error of stage `request`, code `invalid_url`.
  package static func invalidURL(_ message: String, hint: String? = nil) -> Self {
    .refused(.invalidURL, message, hint: hint)
  }
}

extension RequestTarget {
  /// Parses, in one pass, a URL whose parts can be sent as they are written; returns `nil` for any other URL.
  static func plain(_ url: UnsafeBufferPointer<UInt8>) -> RequestTarget? {
    guard let scheme = plainScheme(url) else { return nil }
    let start = scheme.utf8.count + 3
    var end = start
    while end < url.count, url[end] != slash, url[end] != mark, url[end] != hash { end += 1 }
    guard let authority = plainAuthority(url, start, end, defaultPort: start == 8 ? 443 : 80),
      let pathEnd = plainPartEnd(url, end, in: .path)
    else { return nil }
    let path = end == pathEnd ? "/" : text(url, end, pathEnd)
    guard pathEnd < url.count, url[pathEnd] == mark else {
      return RequestTarget(scheme: scheme, authority: authority, path: path, query: nil)
    }
    guard let queryEnd = plainPartEnd(url, pathEnd + 1, in: .query) else { return nil }
    return RequestTarget(scheme: scheme, authority: authority, path: path, query: text(url, pathEnd + 1, queryEnd))
  }

  private static var slash: UInt8 { UInt8(ascii: "/") }
  private static var mark: UInt8 { UInt8(ascii: "?") }
  private static var hash: UInt8 { UInt8(ascii: "#") }

  private static func plainScheme(_ url: UnsafeBufferPointer<UInt8>) -> String? {
    if url.starts(with: "https://".utf8) { return "https" }
    return url.starts(with: "http://".utf8) ? "http" : nil
  }

  private static func plainAuthority(
    _ url: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, defaultPort: Int
  ) -> String? {
    guard let plain = PlainAuthority(UnsafeBufferPointer(rebasing: url[start..<end])), plain.isLowerCase else {
      return nil
    }
    let hostEnd = start + plain.hostLength
    guard let port = plain.port, port != defaultPort else { return text(url, start, hostEnd) }
    // Leading zeros of a port are not sent, so the general parser must remove them.
    return url[hostEnd + 1] == UInt8(ascii: "0") ? nil : text(url, start, end)
  }

  /// Returns the end of a part: the index of the `?` or `#` that ends it, or the end of the URL. Returns `nil` if the
  /// part contains a byte that must be percent-encoded.
  private static func plainPartEnd(_ url: UnsafeBufferPointer<UInt8>, _ start: Int, in kept: ByteSet) -> Int? {
    var index = start
    while index < url.count {
      let byte = url[index]
      if byte == UInt8(ascii: "%") {
        guard url.count - index > 2, url[index + 1].hexadecimalValue != nil, url[index + 2].hexadecimalValue != nil
        else { return nil }
      } else if !kept.contains(byte) {
        return byte == hash || byte == mark ? index : nil
      }
      index += 1
    }
    return index
  }

  private static func text(_ url: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: url[start..<end]), as: UTF8.self)
  }
}
