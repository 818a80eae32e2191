// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// An obfs4 server (a "bridge"): its address, its certificate, and the timing of writes.
///
/// The operator of the server publishes the certificate: node ID and public key in base64. A program that has it can
/// talk to the server, and detect that it is one. Descriptions and `dump` therefore show neither the certificate nor
/// the address.
///
/// ```swift
/// let server = try WispServer("obfs4 192.0.2.7:443 cert=AQID…cg iat-mode=0")
/// ```
package struct WispServer: Sendable, Hashable {
  /// The way writes are split and delayed.
  package typealias Timing = Tunnel.WispTiming

  /// The host name or IP address in its canonical form; IPv6 without brackets.
  package let host: String
  /// The port, 1 to 65,535.
  package let port: Int
  /// The certificate: always 70 characters of base64, without `==`.
  package let certificate: Secret
  /// The way writes are split and delayed. Default: mode 0.
  package let mode: Timing
  let identity: Obfs4Identity

  /// Creates a server from its certificate.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: 1 to 65,535.
  ///   - certificate: base64 of node ID and public key, with or without a trailing `==`; `cert` of a bridge line.
  ///   - mode: the way writes are split and delayed; `iat-mode` of a bridge line. Default 0.
  /// - Throws: `ConfigurationError` for an invalid host, port or certificate. It contains no part of the certificate.
  package init(
    host: String, port: Int, certificate: Secret, mode: Timing = .immediate
  ) throws(ConfigurationError) {
    try self.init(host: host, port: port, identity: WispCertificate.bytes(of: certificate.reveal()), mode: mode)
  }

  /// - Parameter identity: node ID and public key.
  init(host: String, port: Int, identity: [UInt8], mode: Timing) throws(ConfigurationError) {
    self.host = try ProxyServer(host: host, port: port, called: "the obfs4 server").host
    self.port = port
    self.identity = try WispCertificate.identity(of: identity)
    self.mode = mode
    certificate = Secret(WispCertificate.text(of: identity))
  }

  /// Returns the request that dials this server, for a stream to another host.
  func request(
    for request: DialRequest, within limit: Duration?
  ) throws(TransportError) -> DialRequest {
    guard request.connection?.unixSocketPath == nil else {
      throw .refused(
        .invalidOption, "an obfs4 server cannot connect to a Unix socket",
        hint: "leave unixSocketPath out, or dial without the obfs4 server")
    }
    // Only the server behind this one gets a client certificate.
    var connection = request.connection
    connection?.tls.identity = nil
    return DialRequest(host: host, port: port, role: .proxy, connection: connection, connectTimeout: limit)
  }
}

extension WispServer: CustomStringConvertible, CustomReflectable {
  /// The server in the form `obfs4:*** iat-mode=0`, without address and certificate, which would reveal a hidden
  /// server.
  package var description: String { "obfs4:\(Redaction.mask) iat-mode=\(mode.rawValue)" }
  /// A mirror with only the mode.
  package var customMirror: Mirror { Mirror(self, children: ["mode": mode]) }
}

extension WispServer {
  /// Parses a server from a hop of a chain, or from a bridge line of Tor's configuration.
  ///
  /// - `obfs4:HOST:PORT?cert=CERT[&iat-mode=0|1|2]`: items in any order, each once, separated by `&` or `;`; IPv6 in
  ///   brackets. `%2B`, `%2F` and `%3D` in a value are decoded to `+`, `/` and `=`; `+` is not decoded.
  /// - `[Bridge ]obfs4 HOST:PORT [FINGERPRINT] cert=CERT [iat-mode=…]`: the fingerprint, 40 hexadecimal digits, and
  ///   unknown items are ignored.
  ///
  /// The items `node-id` and `public-key` may replace `cert`. The default of `iat-mode` is 0.
  ///
  /// - Throws: `ConfigurationError` for any other text. Its message contains no part of the text except a port.
  package init(_ text: String) throws(ConfigurationError) {
    self = try WispReader.isBridgeLine(text) ? WispReader.bridgeLine(text) : WispReader.hop(text)
  }

  /// Whether a text is meant for ``init(_:)``, as opposed to the other forms of a chain.
  static func isWritten(_ text: String) -> Bool {
    text.prefix(6).lowercased() == "obfs4:" || WispReader.isBridgeLine(text)
  }
}

/// A parser for the texts of obfs4 servers.
private enum WispReader {
  private static let forms =
    "write obfs4:HOST:PORT?cert=CERT&iat-mode=0, or a whole bridge line in quotes: obfs4 HOST:PORT cert=CERT iat-mode=0"

  static func isBridgeLine(_ text: String) -> Bool {
    let first = words(text).first?.lowercased()
    return first == "bridge" || first == "obfs4"
  }

  private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

  static func hop(_ text: String) throws(ConfigurationError) -> WispServer {
    guard text.prefix(6).lowercased() == "obfs4:" else {
      throw ConfigurationError("the text does not begin with obfs4:", hint: forms)
    }
    let parts = text.dropFirst(6).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard !parts[0].contains("/") else {
      throw ConfigurationError("the address of the obfs4 server has a / in it", hint: forms)
    }
    var items = Items()
    if parts.count > 1 {
      for item in parts[1].split(omittingEmptySubsequences: false, whereSeparator: { $0 == "&" || $0 == ";" }) {
        try items.add(item) { $0.undoingPercent }
        guard items.lastIsKnown else {
          throw ConfigurationError(
            "the obfs4 server has an item that is neither cert nor iat-mode",
            hint: "leave out what is not in the form obfs4:HOST:PORT?cert=CERT&iat-mode=0")
        }
      }
    }
    return try items.server(at: parts[0], forms)
  }

  static func bridgeLine(_ text: String) throws(ConfigurationError) -> WispServer {
    var words = words(text)[...]
    if words.first?.lowercased() == "bridge" { words.removeFirst() }
    guard let transport = words.popFirst(), transport == "obfs4" else {
      throw ConfigurationError("the bridge line is not for obfs4", hint: "ask for an obfs4 bridge: \(forms)")
    }
    guard let address = words.popFirst() else {
      throw ConfigurationError("the bridge line ends before the address", hint: forms)
    }
    if let fingerprint = words.first, fingerprint.utf8.count == 40,
      fingerprint.allSatisfy({ $0.isASCII && $0.isHexDigit })
    {
      words.removeFirst()
    }
    var items = Items()
    for word in words {
      guard word.contains("=") else {
        throw ConfigurationError(
          "the bridge line has a word that is neither its fingerprint nor an item such as iat-mode=0", hint: forms)
      }
      try items.add(word) { String($0) }
    }
    return try items.server(at: address, forms)
  }
}

/// The items in the text of a server.
private struct Items {
  private static let names = ["cert", "iat-mode", "node-id", "public-key"]

  private var values: [String: String] = [:]
  /// Whether the last item is one of obfs4.
  private(set) var lastIsKnown = true

  /// Adds an item `NAME=VALUE`.
  mutating func add(_ item: Substring, _ decoded: (Substring) -> String) throws(ConfigurationError) {
    let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    lastIsKnown = Self.names.contains(name)
    guard lastIsKnown else { return }
    guard values[name] == nil else {
      throw ConfigurationError("the obfs4 server has \(name) twice", hint: "give each item once")
    }
    values[name] = parts.count > 1 ? decoded(parts[1]) : ""
  }

  func server(at address: Substring, _ forms: String) throws(ConfigurationError) -> WispServer {
    // The text in place of the address may be the certificate, so show only a number.
    let digits = address.utf8.lastIndex(of: UInt8(ascii: ":")).map { address[address.utf8.index(after: $0)...] } ?? ""
    if !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit), !(1...65_535).contains(Int(digits) ?? .max) {
      throw ConfigurationError(
        "port \(digits.prefix(20)) of the obfs4 server is out of range (1…65535)",
        hint: "give the port that the server listens at")
    }
    guard let authority = try? Authority(address) else {
      throw ConfigurationError("the address of the obfs4 server is not valid", hint: forms)
    }
    guard let port = authority.port else {
      throw ConfigurationError("the obfs4 server has no port", hint: forms)
    }
    return try WispServer(host: authority.host, port: port, identity: identity(forms), mode: mode())
  }

  private func mode() throws(ConfigurationError) -> WispServer.Timing {
    guard let text = values["iat-mode"] else { return .immediate }
    guard text.utf8.count == 1, let mode = Int(text).flatMap(WispServer.Timing.init) else {
      throw ConfigurationError("iat-mode of the obfs4 server is not 0, 1 or 2", hint: "leave it out for 0")
    }
    return mode
  }

  private func identity(_ forms: String) throws(ConfigurationError) -> [UInt8] {
    let hasHalves = values["node-id"] != nil || values["public-key"] != nil
    guard let certificate = values["cert"] else {
      guard hasHalves else { throw ConfigurationError("the obfs4 server has no certificate", hint: forms) }
      return try WispCertificate.bytes(ofHexadecimal: values["node-id"] ?? "", count: 20, "node id")
        + WispCertificate.bytes(ofHexadecimal: values["public-key"] ?? "", count: 32, "public key")
    }
    guard !hasHalves else {
      throw ConfigurationError(
        "the obfs4 server has a certificate and a node id or public key", hint: "give the certificate alone")
    }
    return try WispCertificate.bytes(of: certificate)
  }
}

extension Substring {
  /// The text with `%2B`, `%2F` and `%3D` decoded, which some programs write for `+`, `/` and `=`; no other URL
  /// decoding applies.
  fileprivate var undoingPercent: String {
    var result = "", rest = self
    while let percent = rest.firstIndex(of: "%") {
      result += rest[..<percent]
      let code = rest[percent...].prefix(3)
      let sign = ["%2B": "+", "%2F": "/", "%3D": "="][code.uppercased()]
      result += sign ?? "%"
      rest = sign == nil ? rest[rest.index(after: percent)...] : rest[code.endIndex...]
    }
    return result + rest
  }
}
