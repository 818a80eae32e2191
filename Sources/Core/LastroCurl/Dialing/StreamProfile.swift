// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// The options and the trust that streams with equal options share. It sets them on the easy handles that dial.
final class StreamProfile {
  /// The profile's number, which is never used again in the process.
  let id = StreamID.next()
  let options: ConnectionOptions
  let trust: TLSTerms
  /// The egress rules of the options; `nil` if they deny nothing.
  let egressRules: EgressRules?
  /// The user agent that is sent to proxies with CONNECT.
  private let userAgent: String?
  /// The poller, which outlives every connection.
  private let poller: Poller
  private let identities: ClientIdentities
  private let proxies: ProxyResolver
  /// The fixed name answers in libcurl's syntax. libcurl reads them while it dials, so they live as long as the
  /// profile.
  private var resolutions = StringList()
  /// The number of streams that were dialed with the profile and have not ended.
  var uses = 0

  /// Creates a profile.
  ///
  /// - Parameter predecessor: the profile that this one replaces.
  init(
    options: ConnectionOptions, settings: CurlSettings, poller: Poller, turn: TurnShare,
    after predecessor: StreamProfile?
  ) throws(TransportError) {
    self.options = options
    egressRules = options.reach.egress.flatMap { $0.isUnrestricted ? nil : $0 }
    self.poller = poller
    userAgent = settings.engine.userAgent
    trust = try TLSTerms(
      options.tls, standing: settings.trustJudge, turn: turn, after: predecessor?.trust.files)
    identities = try ClientIdentities(options.tls)
    try options.tls.check()
    proxies = try ProxyResolver(options.proxy, environment: settings.environmentProxies)
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

  /// Returns the fixed answer for the host of a dial.
  func fixedAnswer(for dial: StreamDial) -> ConnectionOptions.Resolution? {
    options.resolutions.last { $0.port == dial.request.port && (try? HostName($0.host)) == dial.host }
  }

  /// Returns whether the name of a dial's host is resolved locally and has no fixed answer.
  func resolvesName(of dial: StreamDial) -> Bool {
    if dial.host.isIPAddress || options.unixSocketPath != nil || fixedAnswer(for: dial) != nil { return false }
    return proxy(isTLS: dial.request.tls != nil, authority: dial.name).isEmpty
  }
}

extension StreamProfile {
  /// Sets up a handle that connects and does nothing more.
  func apply(_ session: StreamSession) throws(TransportError) {
    let easy = session.easy, dial = session.dial
    applyBasics(easy, until: dial.expiresAt)
    try checkEgress(to: dial.server, proxy: session.proxy)
    try applyRoute(easy, proxy: session.proxy)
    try applyTarget(of: session)
    easy.set(CURLOPT_CONNECT_ONLY, 1)
    easy.set(CURLOPT_FRESH_CONNECT, 1)
    // Without these, libcurl would close idle connections, but a stream may be idle.
    easy.set(CURLOPT_MAXAGE_CONN, Int(Int32.max))
    easy.set(CURLOPT_MAXLIFETIME_CONN, 0)
    // The maximum that curl_easy_recv reads at once. The memory itself is allocated only while connecting.
    easy.set(CURLOPT_BUFFERSIZE, DialedStream.readBytes)
    easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // Disable libcurl's own offer. The hook sets ours.
    easy.set(CURLOPT_SSL_ENABLE_ALPN, 0)
    if !session.proxy.isEmpty, dial.tunnels {
      easy.set(CURLOPT_HTTPPROXYTUNNEL, 1)
      session.limitTunnelAnswer()
    }
    if easy.sessions == nil { easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
    if session.isTLS {
      try applyServerTLS(easy, host: dial.target.host, role: dial.request.role)
      if !session.gate.checksHostName { easy.set(CURLOPT_SSL_VERIFYHOST, 0) }
      if session.onlyJudge != nil {
        easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        easy.set(CURLOPT_SSL_VERIFYSTATUS, 0)
      }
    }
    if session.gate.proxyTarget != nil { try applyProxyTLS(easy) }
    try session.installCallbacks()
    session.egress = installSockets(on: easy, proxy: session.proxy)
  }

  private func applyTarget(of session: StreamSession) throws(TransportError) {
    let dial = session.dial
    let port = dial.request.port
    let name = dial.target.host.text.bracketedHost
    guard session.easy.set(CURLOPT_URL, "\(session.isTLS ? "https" : "http")://\(name):\(port)/") == CURLE_OK else {
      throw .refusedHost(name)
    }
    guard dial.host != dial.target.host || dial.address != nil else { return }
    let end = (dial.address?.host ?? dial.host.text).bracketedHost
    guard session.connectTo.append("\(name):\(port):\(end):\(dial.address?.port ?? port)") else {
      throw .noMemoryForStream
    }
    session.easy.set(CURLOPT_CONNECT_TO, pointer: UnsafeRawPointer(session.connectTo.head))
  }

  private func applyBasics(_ easy: EasyHandle, until end: Int64) {
    easy.set(CURLOPT_NOSIGNAL, 1)
    easy.set(CURLOPT_QUICK_EXIT, 1)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    easy.set(CURLOPT_TCP_NODELAY, 1)
    // 0 would select libcurl's default of 300 s.
    let milliseconds = end == .max ? Int64.max : max(1, (end - monotonicNow()) / 1_000_000)
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(milliseconds, Int64(Int32.max))))
  }

  /// Sets the path to the host: proxy, fixed name answers, Unix socket and local interface.
  private func applyRoute(_ easy: EasyHandle, proxy: String) throws(TransportError) {
    easy.set(CURLOPT_PATH_AS_IS, 1)
    easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Fail rather than bypass the requested proxy or interface.
    guard easy.set(CURLOPT_PROXY, proxy) == CURLE_OK, easy.set(CURLOPT_NOPROXY, "") == CURLE_OK
    else { throw .refusedProxy(ForwardProxy.name(of: proxy)) }
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
  private func applyServerTLS(_ easy: EasyHandle, host: HostName, role: ServerTrust.Role) throws(TransportError) {
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
    ExpiryLog.shared.note(identity)
  }

  /// Returns the client certificate for a host. Proxies get none.
  func identity(for host: HostName, _ role: ServerTrust.Role) -> TLSOptions.Identity? {
    role == .server ? identities.identity(for: host) : nil
  }

  /// Sets the proxy's TLS options. The proxy gets no client certificate, and its own is verified like a server's,
  /// against the same roots.
  private func applyProxyTLS(_ easy: EasyHandle) throws(TransportError) {
    easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    easy.set(CURLOPT_PROXY_CAINFO, pointer: nil)
    easy.set(CURLOPT_PROXY_SSLVERSION, versions)
    applyCiphers(easy, legacy: CURLOPT_PROXY_SSL_CIPHER_LIST, suites: CURLOPT_PROXY_TLS13_CIPHERS)
    guard TrustSelfCheck.isMarkTelling else { throw .unmarkedProxy }
    clastro_mark_proxy_contexts(easy.raw)
  }

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
    // libcurl numbers the later versions consecutively.
    Int(CURL_SSLVERSION_TLSv1_0) + Int(version.position)
  }
}

extension StreamProfile {
  /// Refuses a route on which the connected addresses cannot be checked.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none.
  private func checkEgress(to target: TrustTarget, proxy: String) throws(TransportError) {
    guard let rules = egressRules else { return }
    if options.unixSocketPath != nil { throw .egressUnixSocketDenied }
    if proxy.isEmpty { return }
    if !rules.trustsProxies { throw .egressProxyDenied }
    if let refusal = rules.refusal(ofLiteral: target) { throw refusal }
  }

  /// Makes libcurl open its sockets through our callbacks.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none. Addresses of proxies are not checked.
  /// - Returns: an object that must live until the connection is made.
  private func installSockets(on easy: EasyHandle, proxy: String) -> EgressGate? {
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
