// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro

/// A Shadowsocks server: its address, its method and its password.
///
/// Its description and its `dump` contain no password.
///
/// ```swift
/// let server = try ShadowsocksServer("ss://YWVzLTI1Ni1nY206dGVzdC1wYXNzd29yZA@192.0.2.1:8388")
/// ```
package struct ShadowsocksServer: Sendable, Hashable {
  package typealias Method = Tunnel.ShadowsocksMethod

  /// The encryption method.
  package let method: Method
  /// The password, which all users of the server share.
  package let password: Secret
  let proxy: ProxyServer
  let key: ShadowsocksKey

  /// The host name or IP address in its canonical form; IPv6 without brackets.
  package var host: String { proxy.host }
  /// The port, 1 to 65,535.
  package var port: Int { proxy.port }

  /// Creates a server.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: 1 to 65,535.
  ///   - method: the encryption method of the server.
  ///   - password: at least one byte of UTF-8.
  /// - Throws: `ConfigurationError` for an invalid host or port, for an empty password, and if libcrypto does not allow
  ///   MD5, which Shadowsocks needs to derive its keys, as under FIPS. The error contains no part of the password.
  package init(host: String, port: Int, method: Method, password: Secret) throws(ConfigurationError) {
    guard !password.isEmpty else {
      throw ConfigurationError("the Shadowsocks server has no password", hint: "give the password of the server")
    }
    proxy = try ProxyServer(host: host, port: port, called: "the Shadowsocks server")
    self.method = method
    self.password = password
    do throws(ShadowsocksFailure) {
      key = try ShadowsocksKey(password: Array(password.reveal().utf8), method: method)
    } catch {
      throw error.configuring
    }
  }
}

extension ShadowsocksServer: CustomStringConvertible, CustomReflectable {
  /// The server in the form `ss://aes-256-gcm@192.0.2.1:8388`, without the password.
  package var description: String { "ss://\(method.rawValue)@\(proxy)" }
  /// A mirror with address and method, without the password.
  package var customMirror: Mirror { Mirror(self, children: ["address": "\(proxy)", "method": method.rawValue]) }
}

extension ShadowsocksServer {
  /// Parses a server from a URI, as published by operators and in the QR codes of other programs (SIP002):
  /// `ss://USER@HOST:PORT[/][?QUERY][#NAME]`, IPv6 in brackets.
  ///
  /// `USER` is `METHOD:PASSWORD`, in base64 (standard or URL-safe alphabet, with or without padding) or
  /// percent-encoded, split at the first colon. The query and the name are ignored, except that `plugin` is refused,
  /// because a server cannot be reached without its plugin.
  ///
  /// - Throws: `ConfigurationError` for any other text, for stream ciphers, and for the methods of 2022 (SIP022). Its
  ///   message contains no part of the text except host, port and the names of known methods.
  package init(_ uri: String) throws(ConfigurationError) {
    guard Self.isWritten(uri) else {
      throw ConfigurationError("the text does not begin with ss://", hint: ShadowsocksURIReader.forms)
    }
    self = try ShadowsocksURIReader.server(uri.dropFirst(5))
  }

  /// Whether a text is meant for ``init(_:)``.
  static func isWritten(_ text: String) -> Bool { text.prefix(5).lowercased() == "ss://" }
}

/// A parser for the URIs of Shadowsocks servers.
private enum ShadowsocksURIReader {
  static let forms = "write ss://USER@HOST:PORT, with METHOD:PASSWORD in base64 or percent-encoded for USER"
  /// The methods before AEAD, which are known to be broken (SIP004).
  private static let streamCiphers: Set<String> = [
    "rc4", "rc4-md5", "rc4-md5-6", "aes-128-cfb", "aes-192-cfb", "aes-256-cfb", "aes-128-ctr", "aes-192-ctr",
    "aes-256-ctr", "bf-cfb", "camellia-128-cfb", "camellia-192-cfb", "camellia-256-cfb", "cast5-cfb", "des-cfb",
    "idea-cfb", "rc2-cfb", "seed-cfb", "salsa20", "chacha20", "chacha20-ietf", "xchacha20", "table",
  ]

  static func server(_ text: Substring) throws(ConfigurationError) -> ShadowsocksServer {
    let hierarchy = text.prefix { $0 != "#" }
    let parts = hierarchy.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts.count > 1 ? parts[1] : ""
    guard let at = parts[0].utf8.lastIndex(of: UInt8(ascii: "@")) else {
      throw ConfigurationError(
        "the Shadowsocks URI has no @ between user and host",
        hint: "\(forms); a URI that is base64 as a whole is the form before SIP002: ask for the newer one")
    }
    let (method, password) = try user(parts[0][..<at])
    // Report a plugin first, because the address may be that of the plugin.
    try refusePlugin(in: query)
    let (host, port) = try address(parts[0][parts[0].utf8.index(after: at)...])
    return try ShadowsocksServer(host: host, port: port, method: method, password: password)
  }

  private static func user(
    _ text: Substring
  ) throws(ConfigurationError) -> (ShadowsocksServer.Method, Secret) {
    guard !text.isEmpty else { throw ConfigurationError("the Shadowsocks URI has no user", hint: forms) }
    guard let bytes = text.percentDecodedBytes, let decoded = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError(
        "the percent-encoding of the Shadowsocks URI's user is not valid", hint: "write % itself as %25")
    }
    let plain: String
    if decoded.utf8.contains(UInt8(ascii: ":")) {
      plain = decoded
    } else if let bytes = fromBase64(decoded), let text = String(validating: bytes, as: UTF8.self) {
      plain = text
    } else {
      throw ConfigurationError(
        "the Shadowsocks URI's user is neither METHOD:PASSWORD nor base64 of it", hint: forms)
    }
    let parts = plain.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    // Check the method first: without a colon, the text may be the password alone.
    let method = try method(parts[0].lowercased())
    guard parts.count > 1, !parts[1].isEmpty else {
      throw ConfigurationError(
        "the Shadowsocks URI has no password", hint: "put METHOD:PASSWORD before the @, in base64 or percent-encoded")
    }
    return (method, Secret(String(parts[1])))
  }

  private static func fromBase64(_ text: String) -> Data? {
    var usual = text.replacing("-", with: "+").replacing("_", with: "/")
    while usual.hasSuffix("=") { usual.removeLast() }
    return Data(base64Encoded: usual + String(repeating: "=", count: (4 - usual.utf8.count % 4) % 4))
  }

  private static func method(_ name: String) throws(ConfigurationError) -> ShadowsocksServer.Method {
    if let method = ShadowsocksServer.Method(rawValue: name) { return method }
    let known = ShadowsocksServer.Method.allCases.map(\.rawValue).joined(separator: ", ")
    if streamCiphers.contains(name) {
      throw ConfigurationError(
        "the Shadowsocks method \(name) is a stream cipher, which is broken",
        hint: "set up the server with one of \(known)")
    }
    if name.hasPrefix("2022-blake3-") {
      throw ConfigurationError(
        "the Shadowsocks methods of 2022 (SIP022) are not supported", hint: "ask for a server with one of \(known)")
    }
    // The text may be part of the password, so it is not shown.
    throw ConfigurationError("the Shadowsocks method is unknown", hint: "use one of \(known)")
  }

  private static func refusePlugin(in query: Substring) throws(ConfigurationError) {
    for item in query.split(separator: "&") {
      let name = item.prefix { $0 != "=" }
      guard name.percentDecodedBytes.map({ $0.elementsEqual("plugin".utf8) }) != true else {
        throw ConfigurationError(
          "the Shadowsocks server wants a plugin, and plugins are not supported",
          hint: "ask for a server without a plugin: this one cannot be reached without its plugin")
      }
    }
  }

  private static func address(_ text: Substring) throws(ConfigurationError) -> (host: String, port: Int) {
    let text = text.hasSuffix("/") ? text.dropLast() : text
    let authority: Authority
    do throws(TransportError) {
      authority = try Authority(text)
    } catch {
      throw ConfigurationError(
        "the address of the Shadowsocks server is not valid: \(error.message)", hint: error.hint ?? forms)
    }
    guard let port = authority.port else {
      throw ConfigurationError("the Shadowsocks server has no port", hint: forms)
    }
    return (authority.host, port)
  }
}
