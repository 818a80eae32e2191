// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The other end of one TLS connection: the host it must be, the chain that OpenSSL verified, and what the judges said
/// to it.
///
/// Owner: the connection (its SSL context), and the streams that use it. Thread: the loop's.
final class TLSPeer {
  let target: TrustTarget
  let role: ServerTrust.Role
  private let rules: JudgePanel
  private let keyLog: KeyLogFile?
  /// Decides about what is presented, where chain and host name do not count.
  private let onlyJudge: (any ServerTrustJudge)?
  /// Set in the handshake, before it is over.
  private(set) var trust: ServerTrust?
  /// The verdict of the judges.
  private var verdict: TrustVerdict?
  /// OpenSSL's reason for refusing chain or host name, which libcurl does not always report.
  private(set) var refused: VerifyFailure?
  /// A judge's reason for refusing it.
  private(set) var failure: TrustFailure?
  /// The fatal alert with which it ended TLS.
  private(set) var alert: TLSAlert?

  init(
    target: TrustTarget, role: ServerTrust.Role, rules: JudgePanel, keyLog: KeyLogFile?,
    onlyJudge: (any ServerTrustJudge)? = nil
  ) {
    self.onlyJudge = onlyJudge
    self.target = target
    self.role = role
    self.rules = rules
    self.keyLog = keyLog
  }

  /// Has a new connection obey: to roots, host name, and this object's say.
  ///
  /// - Parameters:
  ///   - recordsChain: whether the chain is wanted even where no judge looks at it.
  ///   - roots: the trusted roots.
  ///   - adapt: sets what every connection of the profile obeys.
  func attach(
    to context: UnsafeMutableRawPointer, roots: RootStore, recordsChain: Bool,
    adapting adapt: (inout clastro_connection_rules) -> Void
  ) -> Bool {
    target.host.text.withCString { host in
      var settings = clastro_connection_rules(
        roots: roots.pointer, shows_roots_to_curl: false, host: host, host_is_address: target.host.isIPAddress,
        judges_presented: onlyJudge != nil, is_strict: false, allows_resumption: false,
        turn: nil, owner: Unmanaged.passRetained(self).toOpaque(),
        accept: rules.isEmpty && !recordsChain && onlyJudge == nil ? nil : Self.accept, reject: Self.reject,
        hear_alert: Self.hearAlert, log_key: keyLog == nil ? nil : Self.logKey, release: Self.release)
      adapt(&settings)
      return clastro_context_apply(context, &settings)
    }
  }

  /// Whether a request to `target` may be sent on this connection; throws why not.
  ///
  /// Without a chain, as on a resumed session or one that did not pass through here, nothing is proven: it may not.
  func admit(_ target: TrustTarget, as role: ServerTrust.Role = .server) throws(TrustFailure) -> TrustVerdict {
    guard role == self.role, target == self.target, let verdict else { throw .unproven(target) }
    return verdict
  }

  private func accept(_ chain: [PeerCertificate], others: [PeerCertificate]) -> Bool {
    let trust = ServerTrust(
      host: target.host, port: target.port, role: role, chain: chain, otherCertificates: others)
    self.trust = trust
    let revision = onlyJudge?.revision
    switch judge(trust) {
    case .accepted(let verdict):
      // What was judged while the rules changed, or the clock went over a date and back, proves nothing.
      self.verdict = rules.isCurrent && onlyJudge?.revision == revision ? verdict : nil
      return true
    case .refused(let failure):
      self.failure = failure
      return false
    }
  }

  private func judge(_ trust: ServerTrust) -> TrustDecision {
    guard let onlyJudge else { return rules.judge(trust) }
    let first = onlyJudge.judge(trust)
    guard case .accepted(let word) = first else { return first }
    // It was not verified that one of these issued another: only the first is the peer's for certain.
    var leaf = trust
    leaf.chain = Array(trust.chain.prefix(1))
    leaf.otherCertificates = Array(trust.chain.dropFirst())
    switch rules.judge(leaf) {
    case .accepted(.validated): return .accepted(word)
    case let decision: return decision
    }
  }

  // MARK: Called by OpenSSL, inside a call the loop made

  private static let accept:
    @convention(c) (
      UnsafeMutableRawPointer, UnsafePointer<clastro_peer_certificate>, Int, Int
    ) -> Bool = { owner, certificates, chainCount, count in
      let peer = Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue()
      let all = UnsafeBufferPointer(start: certificates, count: count).compactMap(PeerCertificate.init)
      // One that cannot be read would shift the others.
      guard all.count == count else {
        peer.failure = .unproven(peer.target)
        return false
      }
      return peer.accept(Array(all[..<chainCount]), others: Array(all[chainCount...]))
    }

  private static let reject:
    @convention(c) (UnsafeMutableRawPointer, Int32, UnsafePointer<clastro_peer_certificate>?, Int32) -> Void = {
      owner, result, certificate, depth in
      Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue().refused = VerifyFailure(
        result: Int(result), certificate: certificate.flatMap { PeerCertificate($0.pointee) }, depth: Int(depth))
    }

  private static let hearAlert: @convention(c) (UnsafeMutableRawPointer, Int32, Bool) -> Void = {
    owner, alert, askedInVain in
    let peer = Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue()
    peer.alert = TLSAlert(value: alert, certificateWasMissing: askedInVain)
  }

  private static let logKey: @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>) -> Void = { owner, line in
    Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue().keyLog?.append(line)
  }

  private static let release: @convention(c) (UnsafeMutableRawPointer) -> Void = { owner in
    Unmanaged<TLSPeer>.fromOpaque(owner).release()
  }
}

extension TLSPeer {
  /// The handshake's end by OpenSSL or a judge, which know better than libcurl why it failed.
  func refusal(_ code: CURLcode, requestSent: Bool) -> TransportError? {
    let engineCode = Int32(bitPattern: code.rawValue)
    if let failure { return .refusedTrust(failure, engineCode: engineCode) }
    guard let refused else { return nil }
    let (stage, word, message, hint) = refused.meaning(of: target.name, isProxy: role == .proxy)
    var error = TransportError(
      stage: stage, code: word, message: message, hint: hint, engineCode: engineCode, requestSent: requestSent)
    error.refusedCertificate = refused.certificate
    return error
  }
}

extension TLSPeer {
  /// Its own end of TLS, by an alert.
  func alertFailure(_ code: CURLcode, requestSent: Bool) -> TransportError? {
    var error = alert?.failure(role == .proxy ? .proxy : .tls, requestSent: requestSent)
    error?.engineCode = Int32(bitPattern: code.rawValue)
    return error
  }
}

extension TrustFailure {
  /// The connection cannot show a chain that was verified on it.
  static func unproven(_ target: TrustTarget) -> TrustFailure {
    TrustFailure(.unproven, trust: ServerTrust(host: target.host, port: target.port, chain: []))
  }
}

extension PeerCertificate {
  init?(_ certificate: clastro_peer_certificate) {
    guard let pin = withUnsafeBytes(of: certificate.pin, { SPKIHash([UInt8]($0)) }) else { return nil }
    self.init(der: [UInt8](UnsafeBufferPointer(start: certificate.der, count: certificate.length)), pin: pin)
  }
}
