// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// The flags for the connection to a server and for trust, with curl's names where curl has them.
struct ConnectionFlags: ParsableArguments {
  @Option(help: "PEM file of trusted roots, instead of the system's.")
  var cacert: String?
  @Option(help: "Directory of PEM files of trusted roots, instead of the system's.")
  var capath: String?

  @Option(
    name: [.customShort("x"), .customLong("proxy")],
    help: "Proxy URL (http, https, socks5, socks5h). '' for none. Default: from the environment.")
  var proxy: String?
  @Option(help: "HOST:PORT of a SOCKS5 proxy; names are resolved here.")
  var socks5: String?
  @Option(name: .customLong("socks5-hostname"), help: "HOST:PORT of a SOCKS5 proxy, which resolves names.")
  var socks5Hostname: String?
  @Option(name: [.customShort("U"), .customLong("proxy-user")], help: "USER:PASSWORD for the proxy of these options.")
  var proxyUser: String?
  @Option(help: "Hosts to reach without the proxy, with or without a port, separated by commas or blanks.")
  var noproxy: String?
  @Option(help: "Fixed name answer HOST:PORT:ADDRESS. Repeatable.")
  var resolve: [String] = []
  @Option(name: .customLong("unix-socket"), help: "Unix socket to connect to instead of the host.")
  var unixSocket: String?
  @Option(name: .customLong("connect-timeout"), help: "Seconds until connected. Default 10.")
  var connectTimeout: Double?

  @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Connect only to IPv4 addresses of names.")
  var ipv4 = false
  @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Connect only to IPv6 addresses of names.")
  var ipv6 = false

  @Flag(name: .customLong("tlsv1.2"), help: "TLS 1.2 or newer: the default.")
  var tls12 = false
  @Flag(name: .customLong("tlsv1.3"), help: "TLS 1.3 or newer.")
  var tls13 = false
  @Option(name: .customLong("tls-max"), help: "The newest TLS version: 1.2, 1.3 or default, also for https proxies.")
  var tlsMax: String?
  @Option(help: "Ciphers of TLS 1.2, by OpenSSL's names, separated by colons, best first.")
  var ciphers: String?
  @Option(name: .customLong("tls13-ciphers"), help: "Cipher suites of TLS 1.3, separated by colons, best first.")
  var tls13Ciphers: String?
  @Flag(name: .customLong("cert-status"), help: "Require a good stapled OCSP response.")
  var certStatus = false
  @Option(help: "SPIFFE ID that the server must prove, and not its host name. Needs --cacert or --capath. Repeatable.")
  var spiffe: [String] = []
  @Option(
    name: .customLong("key-log"),
    help: "File for the connections' secrets, to decrypt captured traffic with. SSLKEYLOGFILE has no effect.")
  var keyLog: String?

  func validate() throws {
    if cacert != nil, capath != nil { throw ValidationError("--cacert and --capath exclude each other.") }
    if tls12, tls13 { throw ValidationError("--tlsv1.2 and --tlsv1.3 exclude each other.") }
    if let tlsMax, !["1.2", "1.3", "default"].contains(tlsMax) {
      throw ValidationError(
        "--tls-max \(tlsMax.onOneLine) is not supported; write 1.2, 1.3 or default: older versions are obsolete.")
    }
    if tls13, tlsMax == "1.2" { throw ValidationError("--tlsv1.3 and --tls-max 1.2 exclude each other.") }
    let proxies = [("-x", proxy), ("--socks5", socks5), ("--socks5-hostname", socks5Hostname)].filter { $0.1 != nil }
    if proxies.count > 1 { throw ValidationError("\(proxies[0].0) and \(proxies[1].0) exclude each other.") }
    if let proxyUser {
      if proxies.isEmpty { throw ValidationError("-U needs -x, --socks5 or --socks5-hostname.") }
      if !proxyUser.contains(":") { throw ValidationError("-U has no colon; write USER:PASSWORD.") }
    }
    if ipv4, ipv6 { throw ValidationError("-4 and -6 exclude each other.") }
  }

  /// The URL of the proxy, with its user; `nil` if none is named.
  private var proxyURL: String? {
    let url = socks5.map { Self.naming("socks5", $0) } ?? socks5Hostname.map { Self.naming("socks5h", $0) } ?? proxy
    guard let url, !url.isEmpty, let proxyUser, let colon = proxyUser.firstIndex(of: ":") else { return url }
    let words = [proxyUser[..<colon], proxyUser[proxyUser.index(after: colon)...]]
    let user = words.map { BodyFlags.percentEncoded($0.utf8, space: "%20") }.joined(separator: ":")
    let whole = url.contains("://") ? url : "http://" + url
    return whole.replacing("://", with: "://\(user)@", maxReplacements: 1)
  }

  private static func naming(_ scheme: String, _ proxy: String) -> String {
    proxy.contains("://") ? proxy : "\(scheme)://\(proxy)"
  }

  func apply(to specification: inout RequestSpecification) {
    specification.cacert = cacert
    specification.capath = capath
    specification.proxy = proxyURL
    specification.noProxy = noproxy?.split(separator: ",").map(String.init) ?? []
    specification.resolve = resolve
    specification.unixSocket = unixSocket
    specification.family = ipv4 ? .ipv4 : ipv6 ? .ipv6 : nil
    specification.connectTimeout = connectTimeout
    specification.tlsVersion = tls13 ? "1.3" : tls12 ? "1.2" : nil
    specification.tlsMax = tlsMax
    specification.ciphers = ciphers
    specification.tls13Ciphers = tls13Ciphers
    specification.certStatus = certStatus
    specification.spiffe = spiffe
    specification.keyLog = keyLog
  }
}
