// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// Sets connection options on easy handles that dial.
final class OptionApplier {
  let options: ConnectionOptions
  /// The egress rules of the options; `nil` if they deny nothing.
  let egressRules: EgressRules?
  /// The user agent that is sent to proxies with CONNECT.
  private let userAgent: String?
  /// The poller, which outlives every connection.
  let poller: Poller
  let trust: ProfileTrust
  private let identities: ClientIdentities
  private let proxies: ProxyResolver
  /// The fixed name answers in libcurl's syntax. libcurl reads them while it dials, so they live as long as the
  /// profile.
  private var resolutions = StringList()
  init(
    options: ConnectionOptions, trust: ProfileTrust, userAgent: String?, environment: ProxyResolver,
    poller: Poller
  ) throws(TransportError) {
    self.options = options
    egressRules = options.reach.egress.flatMap { $0.isUnrestricted ? nil : $0 }
    self.poller = poller
    self.trust = trust
    self.userAgent = userAgent
    identities = try ClientIdentities(options.tls)
    try TLSVersions.check(options.tls)
    try CipherNames.check(options.tls)
    proxies = try ProxyResolver(options.proxy, environment: environment)
    for resolution in options.resolutions {
      let addresses = resolution.addresses.map(\.bracketedHost).joined(separator: ",")
      // Use the host's form in requests.
      let host = (try? HostName(resolution.host))?.text ?? resolution.host
      _ = resolutions.append("\(host):\(resolution.port):\(addresses)")
    }
  }

  /// Returns the proxy's URL; empty if there is none.
  func proxy(isTLS: Bool, authority: String) -> String {
    options.unixSocketPath == nil ? proxies.proxy(isTLS: isTLS, authority: authority) : ""
  }

  func applyBasics(_ easy: EasyHandle, timeout: Duration?) {
    easy.set(CURLOPT_NOSIGNAL, 1)
    easy.set(CURLOPT_QUICK_EXIT, 1)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    easy.set(CURLOPT_TCP_NODELAY, 1)
    // 0 would select libcurl's default of 300 s.
    let milliseconds = timeout.map { max(1, $0.nanoseconds / 1_000_000) } ?? Int64(Int32.max)
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(milliseconds, Int64(Int32.max))))
  }

  /// Sets the path to the host: proxy, fixed name answers, Unix socket and local interface.
  func applyRoute(_ easy: EasyHandle, proxy: String) throws(TransportError) {
    easy.set(CURLOPT_PATH_AS_IS, 1)
    easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Fail rather than bypass the requested proxy or interface.
    guard easy.set(CURLOPT_PROXY, proxy) == CURLE_OK, easy.set(CURLOPT_NOPROXY, "") == CURLE_OK
    else { throw .refusedProxy(TrustTarget.proxyName(proxy)) }
    // The user agent for CONNECT. The request itself has its own field.
    if !proxy.isEmpty, let userAgent { easy.set(CURLOPT_USERAGENT, userAgent) }
    if resolutions.head != nil { easy.set(CURLOPT_RESOLVE, pointer: UnsafeRawPointer(resolutions.head)) }
    if let path = options.unixSocketPath {
      guard !path.utf8.contains(0), easy.set(CURLOPT_UNIX_SOCKET_PATH, path) == CURLE_OK else {
        throw .refusedSocketPath(path)
      }
    }
    if let interface = options.localInterface {
      guard !interface.utf8.contains(0), easy.set(CURLOPT_INTERFACE, interface) == CURLE_OK else {
        throw .refusedInterface(interface)
      }
    }
  }

  /// Sets the TLS options of the server.
  ///
  /// - Parameter role: the role of the host. A proxy that a stream is dialed to gets no client certificate, like any
  ///   other proxy.
  func applyServerTLS(
    _ easy: EasyHandle, host: HostName, role: ServerTrust.Role = .server
  ) throws(TransportError) {
    // The hook sets the roots.
    easy.set(CURLOPT_CAPATH, pointer: nil)
    easy.set(CURLOPT_CAINFO, pointer: nil)
    easy.set(CURLOPT_SSLVERSION, versions)
    applyCiphers(easy, legacy: CURLOPT_SSL_CIPHER_LIST, suites: CURLOPT_TLS13_CIPHERS)
    if options.tls.requiresStapledStatus { easy.set(CURLOPT_SSL_VERIFYSTATUS, 1) }
    guard let source = identity(for: host, role) else { return }
    // If libcurl rejects an identity, fail rather than send the request without one.
    guard let identity = trust.files.identity(source),
      easy.set(CURLOPT_SSLCERT_BLOB, blob: identity.certificate) == CURLE_OK,
      easy.set(CURLOPT_SSLKEY_BLOB, blob: identity.key) == CURLE_OK
    else { throw .unusableIdentity }
    if let password = identity.password { easy.set(CURLOPT_KEYPASSWD, password) }
  }

  /// Returns the client certificate for a host. Proxies get none.
  func identity(for host: HostName, _ role: ServerTrust.Role = .server) -> TLSOptions.Identity? {
    role == .server ? identities.identity(for: host) : nil
  }

  /// Sets the TLS options of the proxy. Its certificate is verified like a server's, against the same roots. It gets no
  /// client certificate.
  func applyProxyTLS(_ easy: EasyHandle) throws(TransportError) {
    easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    easy.set(CURLOPT_PROXY_CAINFO, pointer: nil)
    easy.set(CURLOPT_PROXY_SSLVERSION, versions)
    applyCiphers(easy, legacy: CURLOPT_PROXY_SSL_CIPHER_LIST, suites: CURLOPT_PROXY_TLS13_CIPHERS)
    guard Self.tellsProxiesApart else {
      throw .unmarkedProxy
    }
    clastro_mark_proxy_contexts(easy.raw)
  }

  private static let tellsProxiesApart = clastro_proxy_mark_is_telling()

  private func applyCiphers(_ easy: EasyHandle, legacy: CURLoption, suites: CURLoption) {
    if let ciphers = options.tls.legacyCiphers { easy.set(legacy, ciphers.joined(separator: ":")) }
    if let names = options.tls.cipherSuites { easy.set(suites, names.joined(separator: ":")) }
  }

  /// The option's value: the minimum version, and in the upper half the maximum version, where 0 means the newest
  /// (`CURL_SSLVERSION_MAX_…`).
  private var versions: Int {
    Self.number(options.tls.minimumVersion) | (options.tls.maximumVersion.map(Self.number) ?? 0) << 16
  }

  private static func number(_ version: TLSOptions.Version) -> Int {
    switch version {
    case .v1_0: Int(CURL_SSLVERSION_TLSv1_0)
    case .v1_1: Int(CURL_SSLVERSION_TLSv1_1)
    case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
    case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
    }
  }
}

extension OptionApplier {
  /// Refuses a route on which the connected addresses cannot be checked.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none.
  func checkEgress(to target: TrustTarget, proxy: String) throws(TransportError) {
    guard let rules = egressRules else { return }
    if options.unixSocketPath != nil { throw .egressDenied(.unixSocket) }
    if proxy.isEmpty { return }
    if !rules.trustsProxies { throw .egressDenied(.proxy) }
    if let refusal = rules.refusal(ofLiteral: target) { throw refusal }
  }

  /// Makes libcurl open its sockets through our callbacks.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none. Addresses of proxies are not checked.
  /// - Returns: an object that must live until the connection is made.
  func installSockets(on easy: EasyHandle, proxy: String) -> EgressGate? {
    let keeper = Unmanaged.passUnretained(poller).toOpaque()
    guard let rules = egressRules, proxy.isEmpty else {
      clastro_install_socket_keeper(easy.raw, keeper, Poller.openSocket, keeper, Poller.closeSocket)
      return nil
    }
    let gate = EgressGate(rules, poller: poller)
    clastro_install_socket_keeper(
      easy.raw, Unmanaged.passUnretained(gate).toOpaque(), EgressGate.openSocket, keeper, Poller.closeSocket)
    return gate
  }
}
