// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A stream of bytes as the loop has it: from the dialing to the end.
///
/// Owner: ``StreamHub/ports``. Thread: the loop's, for its whole life.
final class StreamSession {
  /// The most that is read at once.
  static let readBytes = 64 * 1024
  /// The size of one write of libcurl's. TLS has to get the same piece again if it could not be sent.
  static let writeBytes = 64 * 1024

  /// The nanoseconds that passed before an attempt at one address of a name.
  struct Lead {
    var lookUp: Int64
    var attempt: Int64
  }

  /// Another once it has won a race.
  var dial: StreamDial
  var lead: Lead?
  let easy: EasyHandle
  let profile: StreamProfile
  let shard: StreamShard
  unowned let hub: StreamHub
  let proxy: String
  /// The gate of its host, and of the https proxy in front of it.
  let gate: TLSGate
  /// The one judge of its certificate, where chain and host name do not count.
  let onlyJudge: (any ServerTrustJudge)?
  var connectTo = StringList()
  /// The check of its sockets, where there are rules about addresses and no proxy.
  var egress: EgressGate?

  // While it is dialed.
  /// The latest TLS connection that was begun for it: to the proxy, or to the host.
  var peer: TLSPeer?
  /// Context of the connection to an https proxy.
  var proxyContext: UnsafeMutableRawPointer?
  /// The reason why we stopped libcurl.
  var failure: TransportError?
  /// Whether it must be dialed again, since trust rules changed during the dial.
  var mustRestart = false
  /// The number of earlier attempts.
  var restarts = 0
  var facts = StreamFacts()
  private var tunnelSteps = 0
  /// Whether TLS sessions are kept and resumed.
  private(set) var resumes = false

  // Once it is connected.
  var isOpen = false
  var isEnded = false
  var descriptor: Int32 = -1
  let ending = StreamEnd()
  /// The record of its TLS connection; retained.
  var connection: OpaquePointer?
  /// The handle's latest system error when it connected: no success clears it.
  var oldSystemCode: Int32 = 0
  var reader: StreamRead?
  var writer: StreamWrite?
  var written = 0
  /// Bytes of the piece that TLS wants to be given again.
  var pendingBytes: Int?
  var isWritingFinished = false
  /// The outcome of ending our direction; it does not change.
  var finishOutcome: Result<Void, TransportError>?
  /// Bytes of close_notify that the socket has not taken yet.
  var notice: [UInt8] = []
  /// Bytes that came and were not read.
  var held = Data()
  /// The end of the peer's direction; it does not change.
  var readEnd: Result<Data?, TransportError>?

  var id: UInt64 { dial.id }
  var isTLS: Bool { dial.request.tls != nil }
  var isProxied: Bool { !proxy.isEmpty }
  /// The host that it is dialed to, which is not always the one that its certificate is for.
  var target: TrustTarget { TrustTarget(host: dial.host, port: dial.request.port) }

  init(
    _ dial: StreamDial, easy: EasyHandle, profile: StreamProfile, shard: StreamShard, hub: StreamHub
  ) throws(TransportError) {
    self.dial = dial
    self.easy = easy
    self.profile = profile
    self.shard = shard
    self.hub = hub
    onlyJudge = if case .judged(let judge)? = dial.request.tls?.certificates { judge } else { nil }
    proxy = profile.applier.proxy(
      isTLS: dial.request.tls != nil, authority: "\(dial.host.text.bracketedHost):\(dial.request.port)")
    gate = TLSGate(
      dial.target, role: dial.request.role, isTLS: dial.request.tls != nil,
      proxyTarget: try TLSGate.proxyTarget(of: proxy), terms: profile.trust.terms, onlyJudge: onlyJudge,
      recordsChain: dial.kind != .carried)
  }

  /// Resumes TLS sessions of connections before.
  func resume(_ sessions: SessionShare) {
    easy.use(sessions)
    resumes = true
  }

  deinit { if let connection { clastro_connection_release(connection) } }

  // MARK: Dialing, called by libcurl

  static func of(_ context: UnsafeMutableRawPointer?) -> StreamSession? {
    context.map { Unmanaged<StreamSession>.fromOpaque($0).takeUnretainedValue() }
  }

  private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  func installCallbacks() { clastro_install_dial_callbacks(easy.raw, context, Self.discard, Self.prereq) }

  func installContextHook() throws(TransportError) {
    try TLSGate.install(Self.prepareTLS, on: easy, owner: context)
  }

  func limitTunnelAnswer() { clastro_install_progress(easy.raw, context, Self.tunnelStep) }

  private static let tunnelStep: clastro_progress_callback = { context, _, _, _, _ in
    guard let session = of(context), !session.isOpen else { return 0 }
    session.tunnelSteps += 1
    guard session.tunnelSteps > TunnelAnswer.maximumBytes else { return 0 }
    session.failure = .endlessTunnelAnswer
    return 1
  }

  /// Discards a proxy's response to CONNECT.
  private static let discard: clastro_data_callback = { _, size, count, _ in size * count }

  private static let prepareTLS: clastro_context_callback = { _, context, session in
    guard let context, let session = of(session), session.prepareTLS(context) else { return CURLE_SSL_CONNECT_ERROR }
    return CURLE_OK
  }

  private static let prereq: clastro_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let session = of(context) else { return Int32(CURL_PREREQFUNC_ABORT) }
    // Of a Unix socket libcurl tells what the path's bytes would be as an address.
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
    guard let beginning = gate.attach(to: context) else { return false }
    peer = beginning.peer
    if beginning.isProxy { proxyContext = context }
    let protocols = beginning.isProxy ? [] : dial.protocols
    return clastro_context_carry_stream(context, protocols, protocols.count)
  }

  /// Connected, and TLS agreed on: whether what was shown suffices.
  private func admit() -> Bool {
    let refusal = profile.egressRefusal(
      connectedTo: facts.remoteAddress, port: facts.remotePort, behind: egress, to: target)
    if let refusal {
      failure = refusal
      return false
    }
    guard profile.trust.isCurrent else {
      mustRestart = true
      return false
    }
    if isTLS {
      if let connection { clastro_connection_release(connection) }
      connection = clastro_connection_retain(easy.raw)
    }
    switch gate.admit(connection, of: easy) {
    case .admitted(let verdict): if isTLS { facts.trust = verdict }
    case .unready:
      failure = .refusedTrust(.unproven(dial.target))
      return false
    case .refused(let refusal):
      failure = .refusedTrust(refusal)
      return false
    }
    if isTLS { facts.tls = readTLS() }
    return facts.tls != nil || !isTLS
  }

  private func readTLS() -> StreamFacts.TLS? {
    var version: UnsafePointer<CChar>?
    var cipher: UnsafePointer<CChar>?
    var protocolName: UnsafePointer<UInt8>?
    let length = clastro_read_tls_agreement(easy.raw, &version, &cipher, &protocolName)
    guard length >= 0, let version else { return nil }
    let name = protocolName.map { String(decoding: UnsafeBufferPointer(start: $0, count: length), as: UTF8.self) }
    var chain: [PeerCertificate] = []
    if dial.kind != .carried { readPresented(into: &chain) }
    return StreamFacts.TLS(
      version: String(cString: version), cipher: cipher.map { String(cString: $0) },
      applicationProtocol: name?.isEmpty == true ? nil : name, presentedChain: chain)
  }

  private func readPresented(into chain: inout [PeerCertificate]) {
    withUnsafeMutablePointer(to: &chain) { chain in
      clastro_each_presented(easy.raw, chain) { chain, certificate in
        guard let one = PeerCertificate(certificate.pointee) else { return }
        chain.assumingMemoryBound(to: [PeerCertificate].self).pointee.append(one)
      }
    }
  }

  /// libcurl's facts of the dialing, with what came before it.
  var dialFacts: clastro_facts {
    var facts = easy.facts
    guard let lead else { return facts }
    facts.name_lookup = lead.lookUp / 1_000
    if facts.connect > 0 { facts.connect += lead.attempt / 1_000 }
    if facts.app_connect > 0 { facts.app_connect += lead.attempt / 1_000 }
    return facts
  }

  // MARK: The end

  var expirations: [Int64] {
    if !isOpen { return [dial.expiresAt] }
    return [reader?.expiresAt, writer?.expiresAt].compactMap(\.self)
  }

  func expire(now: Int64) {
    if !isOpen {
      if now >= dial.expiresAt { hub.finish(.bytes(self), .dialTimeout(dial)) }
      return
    }
    if let reader, now >= reader.expiresAt {
      reader.answer.offer(.failure(.idleStream("no byte came", within: reader.limit)))
    }
    if let writer, now >= writer.expiresAt {
      writer.answer.offer(.failure(.idleStream("not all bytes were taken", within: writer.limit)))
      return serveWriter()
    }
    updateInterest()
  }

  /// Leaves libcurl without a result, to be dialed again.
  func detach() {
    isEnded = true
    shard.remove(easy)
  }

  func end(_ error: TransportError) {
    isEnded = true
    ending.set(error)
    if !isOpen { dial.fail(error) }
    reader?.answer.offer(.failure(error))
    writer?.answer.offer(.failure(error))
    reader = nil
    writer = nil
    if descriptor >= 0 { hub.poller.unwatch(descriptor) }
    shard.remove(easy)
  }
}
