// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The options and the trust that streams with equal options share.
final class StreamProfile {
  /// The profile's number, which is never used again in the process.
  let id = StreamID.next()
  let options: ConnectionOptions
  let trust: ProfileTrust
  let applier: OptionApplier
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
    trust = try ProfileTrust(
      options.tls, standing: settings.trustJudge, turn: turn, after: predecessor?.trust)
    applier = try OptionApplier(
      options: options, trust: trust, userAgent: settings.engine.messages.userAgent,
      environment: settings.environmentProxies,
      poller: poller)
  }
}

extension OptionApplier {
  /// Sets up a handle that connects and does nothing more.
  func apply(_ session: StreamSession) throws(TransportError) {
    let easy = session.easy, dial = session.dial
    let left = dial.expiresAt == .max ? nil : Duration.nanoseconds(max(0, dial.expiresAt - monotonicNow()))
    applyBasics(easy, timeout: left)
    try checkEgress(to: session.dial.server, proxy: session.proxy)
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
    if session.gate.isNeeded {
      if !session.resumes { easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
      try session.installContextHook()
    }
    if session.isTLS {
      try applyServerTLS(easy, host: dial.target.host, role: dial.request.role)
      if session.onlyJudge != nil {
        easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        easy.set(CURLOPT_SSL_VERIFYSTATUS, 0)
      }
    }
    if session.gate.proxyTarget != nil { try applyProxyTLS(easy) }
    session.installCallbacks()
    session.egress = installSockets(on: easy, proxy: session.proxy)
  }

  private func applyTarget(of session: StreamSession) throws(TransportError) {
    let dial = session.dial
    let port = dial.request.port
    let name = dial.target.host.text.bracketedHost, host = dial.host.text.bracketedHost
    guard session.easy.set(CURLOPT_URL, "\(session.isTLS ? "https" : "http")://\(name):\(port)/") == CURLE_OK else {
      throw .refusedHost(name)
    }
    guard dial.host != dial.target.host || dial.address != nil else { return }
    let end = dial.address?.bracketedHost ?? host
    guard session.connectTo.append("\(name):\(port):\(end):\(port)") else {
      throw .noMemoryForStream
    }
    session.easy.set(CURLOPT_CONNECT_TO, pointer: UnsafeRawPointer(session.connectTo.head))
  }
}
