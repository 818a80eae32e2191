// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// The checked host and port of a URL.
package struct Authority: Sendable, Hashable {
  /// The host in lower case and ASCII, as ``HostName`` normalizes it, except that a final dot is kept; an IPv6 address
  /// is in brackets.
  package var host: String
  /// The port; `nil` if the URL has none.
  package var port: Int?

  /// Returns the host, and the port if it differs from `defaultPort`.
  package func text(defaultPort: Int) -> String {
    if let port, port != defaultPort { "\(host):\(port)" } else { host }
  }

  /// Parses `host`, `host:port`, `[address]` or `[address]:port`.
  ///
  /// - Throws: code `invalid_url`, for the reasons listed at ``RequestTarget``.
  package init(_ text: Substring) throws(TransportError) {
    if let plain = text.utf8.withContiguousStorageIfAvailable(Self.plain) ?? nil {
      self = plain
    } else {
      self = try Self.general(text)
    }
  }

  private static func plain(_ bytes: UnsafeBufferPointer<UInt8>) -> Authority? {
    guard let plain = PlainAuthority(bytes) else { return nil }
    let host = String(decoding: UnsafeBufferPointer(rebasing: bytes[..<plain.hostLength]), as: UTF8.self)
    return Authority(host: plain.isLowerCase ? host : host.lowercased(), port: plain.port)
  }

  private init(host: String, port: Int?) {
    self.host = host
    self.port = port
  }

  /// Parses an authority that may need normalization, which is slower.
  package static func general(_ text: Substring) throws(TransportError) -> Authority {
    guard !text.utf8.contains(UInt8(ascii: "@")) else {
      throw .invalidURL(
        "the URL has user information in it",
        hint: "remove the part before @, and give credentials in an Authorization header field")
    }
    if text.utf8.first == UInt8(ascii: "[") {
      guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else {
        throw .invalidURL("the IPv6 address in the URL has no closing bracket", hint: "write https://[2001:db8::1]/")
      }
      let address = text[text.utf8.index(after: text.startIndex)..<end]
      return Authority(host: try ipv6(address), port: try port(text[text.utf8.index(after: end)...]))
    }
    let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
    return Authority(host: try name(text[..<colon]), port: try port(text[colon...]))
  }

  /// Parses `""`, `":"` or `":"` and digits.
  private static func port(_ text: Substring) throws(TransportError) -> Int? {
    guard let colon = text.utf8.first else { return nil }
    let digits = text[text.utf8.index(after: text.startIndex)...]
    if colon == UInt8(ascii: ":"), digits.isEmpty { return nil }
    guard colon == UInt8(ascii: ":"), digits.utf8.count <= 5, digits.utf8.allSatisfy(\.isDigit),
      let port = Int(digits), (1...65_535).contains(port)
    else {
      // Text that is not a number may be a password whose host is missing, so it is not shown.
      let shown = digits.utf8.allSatisfy(\.isDigit) ? "port \(digits.prefix(20)) in the URL" : "the URL's port"
      throw .invalidURL("\(shown) is not a number from 1 to 65535", hint: "write HOST:PORT, or leave the port out")
    }
    return port
  }

  private static func ipv6(_ address: Substring) throws(TransportError) -> String {
    do throws(HostProblem) {
      return "[" + (try HostReader.ipv6(String(address))) + "]"
    } catch {
      throw .invalidURL(error.message, hint: error.hint)
    }
  }

  private static func name(_ text: Substring) throws(TransportError) -> String {
    guard !text.isEmpty else { throw .invalidURL("the URL has no host", hint: "write https://HOST/PATH") }
    guard let bytes = text.percentDecodedBytes, var name = String(validating: bytes, as: UTF8.self) else {
      throw .invalidURL(
        "the percent-encoding in the URL's host is not valid UTF-8", hint: "write the letters themselves")
    }
    // Keep the final dot: it keeps resolvers from using their search domains.
    let isAbsolute = bytes.count > 1 && bytes.last == UInt8(ascii: ".")
    if isAbsolute { name.unicodeScalars.removeLast() }
    do throws(HostProblem) {
      let host = try HostReader.generalName(name)
      guard !isAbsolute || !host.isAddress else {
        throw HostProblem("the IPv4 address ends with a dot", hint: "remove it")
      }
      return isAbsolute ? host.text + "." : host.text
    } catch {
      throw .invalidURL(error.message, hint: error.hint)
    }
  }
}
