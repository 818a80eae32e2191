// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The other end of a TLS connection: the host that it must be, the chain that OpenSSL verified, and the verdict of the
/// judges.
///
/// Owner: the connection (its SSL context), and the streams that use it. Thread: the loop's.
final class TLSPeer {
  let target: TrustTarget
  let role: ServerTrust.Role
  private let rules: JudgePanel
  private let keyLog: KeyLogFile?
  /// The only judge of the presented certificates; with it, chain and host name are not checked.
  private let onlyJudge: (any ServerTrustJudge)?
  /// The verified chain and its host. It is set during the handshake.
  private(set) var trust: ServerTrust?
  /// The verdict of the judges.
  private var verdict: TrustVerdict?
  /// OpenSSL's reason for refusing the chain or host name, which libcurl does not always report.
  private(set) var refused: VerifyFailure?
  /// A judge's reason for refusing the peer.
  private(set) var failure: TrustFailure?
  /// The fatal alert with which the peer ended TLS.
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

  /// Applies the rules to a new connection: roots, host name, and the decision of this object.
  ///
  /// - Parameters:
  ///   - recordsChain: whether the chain is recorded even if no judge needs it.
  ///   - roots: the trusted roots.
  ///   - adapt: sets the terms of every connection of the profile.
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

  /// Returns the verdict for requests to `target` on this connection; throws the reason if they may not be sent.
  ///
  /// Without a verified chain, nothing is proven and no request may be sent. That is the case for a resumed session,
  /// and for one that did not pass through here.
  func admit(_ target: TrustTarget, as role: ServerTrust.Role) throws(TrustFailure) -> TrustVerdict {
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
      // A judgement proves nothing if the rules changed meanwhile, or if the clock passed a date and went back.
      self.verdict = rules.isCurrent && onlyJudge?.revision == revision ? verdict : nil
      return true
    case .refused(let failure):
      self.failure = failure
      return false
    }
  }

  private func judge(_ trust: ServerTrust) -> TrustDecision {
    guard let onlyJudge else { return rules.judge(trust) }
    let first = onlyJudge.decision(on: trust)
    guard case .accepted(let word) = first else { return first }
    // It was not verified that these certificates issued each other: only the first is known to be the peer's.
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
      // An unreadable certificate would shift the others.
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

  /// Returns the peer that a record of libcurl's connection belongs to.
  static func of(_ connection: OpaquePointer) -> TLSPeer {
    Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner(connection)).takeUnretainedValue()
  }

  private static let release: @convention(c) (UnsafeMutableRawPointer) -> Void = { owner in
    Unmanaged<TLSPeer>.fromOpaque(owner).release()
  }
}

extension TLSPeer {
  /// Returns the error if OpenSSL or a judge ended the handshake. They know the reason better than libcurl.
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
  /// Returns the error if the peer ended TLS with an alert.
  func alertFailure(_ code: CURLcode, requestSent: Bool) -> TransportError? {
    var error = alert?.failure(role == .proxy ? .proxy : .tls, requestSent: requestSent)
    error?.engineCode = Int32(bitPattern: code.rawValue)
    return error
  }
}

extension TrustFailure {
  /// Returns the failure of a connection that has no chain that was verified on it.
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
