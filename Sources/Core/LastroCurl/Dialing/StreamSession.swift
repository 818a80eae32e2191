// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The loop's end of a byte stream: its dial, and the connection that the dial opened.
///
/// Owner: ``StreamHub/ports``. Thread: the loop's, for its whole life.
final class StreamSession: StreamPort {
  /// The nanoseconds that passed before an attempt at one address of a name.
  struct Lead {
    var lookUp: Int64
    var attempt: Int64
  }

  /// The dial. It is replaced when the session wins a race.
  var dial: StreamDial
  var lead: Lead?
  let easy: EasyHandle
  let profile: StreamProfile
  let shard: StreamShard
  unowned let hub: StreamHub
  let proxy: String
  /// The gate of the host, and of the https proxy in front of it.
  let gate: TLSGate
  /// The only judge of the certificate; with it, chain and host name are not checked.
  let onlyJudge: (any ServerTrustJudge)?
  var connectTo = StringList()
  /// The check of addresses; `nil` if there are no egress rules, or a proxy is used.
  var egress: EgressGate?

  /// The latest TLS connection that was started: to the proxy, or to the host.
  var peer: TLSPeer?
  /// The context of the connection to an https proxy.
  var proxyContext: UnsafeMutableRawPointer?
  /// The reason why we made libcurl stop.
  var failure: TransportError?
  /// Whether the stream must be dialed again because trust rules changed during the dial.
  var mustRestart = false
  /// The number of earlier attempts.
  var restarts = 0
  var facts = StreamFacts()
  private var tunnelSteps = 0

  /// The peer of the TLS connection, once it was made; `nil` for plain text.
  private(set) var connectedPeer: TLSPeer?
  private(set) var isEnded = false
  /// The open connection; `nil` while dialing.
  private(set) var stream: DialedStream?

  var id: UInt64 { dial.id }
  var isTLS: Bool { dial.request.tls != nil }
  var isProxied: Bool { !proxy.isEmpty }

  init(
    _ dial: StreamDial, easy: EasyHandle, profile: StreamProfile, shard: StreamShard, hub: StreamHub
  ) throws(TransportError) {
    self.dial = dial
    self.easy = easy
    self.profile = profile
    self.shard = shard
    self.hub = hub
    onlyJudge = dial.request.tls?.soleJudge
    proxy = profile.proxy(isTLS: dial.request.tls != nil, authority: dial.name)
    gate = try TLSGate(
      dial.target, role: dial.request.role, isTLS: dial.request.tls != nil,
      proxyTarget: try TLSGate.proxyTarget(of: proxy), terms: profile.trust, onlyJudge: onlyJudge,
      recordsChain: dial.kind != .carried)
  }

  // MARK: Dialing, called by libcurl

  static func of(_ context: UnsafeMutableRawPointer?) -> StreamSession? {
    context.map { Unmanaged<StreamSession>.fromOpaque($0).takeUnretainedValue() }
  }

  private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  func installCallbacks() throws(TransportError) {
    clastro_install_dial_callbacks(easy.raw, context, Self.discard, Self.prereq)
    guard gate.isNeeded else { return }
    guard clastro_install_context_hook(easy.raw, Self.prepareTLS, context) == CURLE_OK else { throw .noContextHook }
  }

  /// The maximum size of a proxy's response to CONNECT. libcurl has no limit. It reads the response byte by byte, and
  /// reports progress after each byte.
  static let mostTunnelBytes = 64 * 1024

  func limitTunnelAnswer() { clastro_install_progress(easy.raw, context, Self.tunnelStep) }

  private static let tunnelStep: curl_xferinfo_callback = { context, _, _, _, _ in
    guard let session = of(context), session.stream == nil else { return 0 }
    session.tunnelSteps += 1
    guard session.tunnelSteps > mostTunnelBytes else { return 0 }
    session.failure = .endlessTunnelAnswer
    return 1
  }

  /// Discards a proxy's response to CONNECT.
  private static let discard: curl_write_callback = { _, size, count, _ in size * count }

  private static let prepareTLS: curl_ssl_ctx_callback = { _, context, session in
    guard let context, let session = of(session), session.prepareTLS(context) else { return CURLE_SSL_CONNECT_ERROR }
    return CURLE_OK
  }

  private static let prereq: curl_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let session = of(context) else { return Int32(CURL_PREREQFUNC_ABORT) }
    // For a Unix socket, libcurl reports the bytes of its path as if they were an address.
    if let path = session.profile.options.unixSocketPath {
      session.facts.remoteAddress = path
    } else {
      session.facts.remoteAddress = remote.flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
      session.facts.remotePort = remotePort > 0 ? Int(remotePort) : nil
      session.facts.localPort = localPort > 0 ? Int(localPort) : nil
    }
    return Int32(session.admit() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
  }

  private func prepareTLS(_ context: UnsafeMutableRawPointer) -> Bool {
    guard let (peer, isProxy) = gate.attach(to: context) else { return false }
    self.peer = peer
    if isProxy { proxyContext = context }
    let protocols = isProxy ? [] : dial.protocols
    return clastro_context_carry_stream(context, protocols, protocols.count)
  }

  /// Decides whether the connection may be used, after the TLS handshake.
  private func admit() -> Bool {
    if let refusal = egress?.refusal(connectedTo: facts.remoteAddress, port: facts.remotePort ?? 0, of: dial.server) {
      failure = refusal
      return false
    }
    guard profile.trust.isCurrent else {
      mustRestart = true
      return false
    }
    if isTLS { connectedPeer = TLSPeer.of(easy) }
    do throws(TrustFailure) {
      let verdict = try gate.admit(connectedPeer, of: easy)
      if isTLS { facts.trust = verdict }
    } catch {
      failure = .refusedTrust(error)
      return false
    }
    if isTLS {
      facts.tls = clastro_tls_of(easy.raw).flatMap { StreamFacts.TLS(of: $0, withChain: dial.kind != .carried) }
    }
    return facts.tls != nil || !isTLS
  }

  // MARK: The end

  /// Takes over the connection that libcurl has made. Returns false if it has already been closed.
  func open() -> Bool {
    stream = DialedStream(self)
    return stream != nil
  }

  // The session is alive while one of these calls runs, which may end it; the open connection refers to it.

  func ready(_ ready: Readiness) { stream?.ready(ready) }

  func read(_ read: StreamRead) { stream?.read(read) }

  func write(_ write: StreamWrite) { stream?.write(write) }

  var expirations: [Int64] { stream?.expirations ?? [dial.expiresAt] }

  func expire(now: Int64) {
    if let stream { return stream.expire(now: now) }
    if now >= dial.expiresAt { hub.end(self, .dialTimeout(dial)) }
  }

  /// Removes the stream from libcurl without a result, so that it can be dialed again.
  func detach() {
    isEnded = true
    shard.remove(easy)
  }

  func end(_ error: TransportError) {
    isEnded = true
    dial.recordEnd(error)
    if let stream { stream.end(error) } else { dial.answer.offer(.failure(error)) }
    shard.remove(easy)
  }
}
