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
  private let terms: TLSTerms
  /// The only judge of the presented certificates; with it, chain and host name are not checked.
  private let onlyJudge: (any ServerTrustJudge)?
  /// The verified chain and its host. It is set during the handshake.
  private(set) var trust: ServerTrust?
  /// The verdict of the judges; `nil` without a chain that was verified on this connection, as for a resumed session.
  private(set) var verdict: TrustVerdict?
  /// OpenSSL's reason for refusing the chain or host name, which libcurl does not always report.
  private(set) var refused: VerifyFailure?
  /// A judge's reason for refusing the peer.
  private(set) var failure: TrustFailure?
  /// The fatal alert with which the peer ended TLS.
  private(set) var alert: TLSAlert?
  /// Whether the peer ended the connection with close_notify (RFC 8446 §6.1), and not with a bare FIN.
  private(set) var hasClosedCleanly = false

  init(target: TrustTarget, role: ServerTrust.Role, terms: TLSTerms, onlyJudge: (any ServerTrustJudge)?) {
    self.onlyJudge = onlyJudge
    self.target = target
    self.role = role
    self.terms = terms
  }

  /// Applies the terms to a new connection: roots, host name, and the decision of this object. Returns false if that is
  /// impossible.
  ///
  /// - Parameters:
  ///   - recordsChain: whether the chain is recorded even if no judge needs it.
  ///   - turn: the loop's turn, if the connection reads a socket of the loop.
  func attach(to context: UnsafeMutableRawPointer, recordsChain: Bool, turn: TurnShare?) -> Bool {
    guard let roots = terms.files.roots else { return false }
    return target.host.text.withCString { host in
      var settings = clastro_connection_rules(
        roots: roots.pointer, shows_roots_to_curl: terms.showsRootsToCurl, host: host,
        host_is_address: target.host.isIPAddress, skips_host: role == .server && !terms.checksHostName,
        judges_presented: onlyJudge != nil, is_strict: terms.isStrict,
        allows_resumption: terms.allowsResumption && !recordsChain, turn: turn.map { UnsafePointer($0.pointer) },
        owner: Unmanaged.passRetained(self).toOpaque(),
        accept: terms.rules.isEmpty && !recordsChain && onlyJudge == nil ? nil : Self.accept, reject: Self.reject,
        hear_alert: Self.hearAlert, log_key: terms.files.keyLog == nil ? nil : Self.logKey, release: Self.release)
      return clastro_context_apply(context, &settings)
    }
  }

  private func accept(_ chain: [PeerCertificate], others: [PeerCertificate]) -> Bool {
    let trust = ServerTrust(
      host: target.host, port: target.port, role: role, chain: chain, otherCertificates: others)
    self.trust = trust
    let revision = onlyJudge?.revision
    switch judge(trust) {
    case .success(let verdict):
      // A judgement proves nothing if the rules changed meanwhile, or if the clock passed a date and went back.
      self.verdict = terms.rules.isCurrent && onlyJudge?.revision == revision ? verdict : nil
      return true
    case .failure(let failure):
      self.failure = failure
      return false
    }
  }

  private func judge(_ trust: ServerTrust) -> TrustDecision {
    guard let onlyJudge else { return terms.rules.judge(trust) }
    let first = onlyJudge.decision(on: trust)
    guard case .success(let word) = first else { return first }
    // It was not verified that these certificates issued each other: only the first is known to be the peer's.
    var leaf = trust
    leaf.chain = Array(trust.chain.prefix(1))
    leaf.otherCertificates = Array(trust.chain.dropFirst())
    switch terms.rules.judge(leaf) {
    case .success(.validated): return .success(word)
    case let decision: return decision
    }
  }

  // MARK: Called by OpenSSL, inside a call the loop made

  private static let accept: @convention(c) (UnsafeMutableRawPointer, OpaquePointer) -> Bool = { owner, verification in
    let peer = Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue()
    let sent = PeerCertificate.all(in: X509_STORE_CTX_get0_untrusted(verification))
    // For the only judge, OpenSSL has built no chain: the certificates that were sent take its place.
    let chain = peer.onlyJudge == nil ? PeerCertificate.all(in: X509_STORE_CTX_get0_chain(verification)) : sent
    let others = sent.filter { !chain.contains($0) }
    if chain.isEmpty { return false }
    // An unreadable certificate would shift the others.
    guard !chain.contains(nil), !others.contains(nil) else {
      peer.failure = .unproven(peer.target)
      return false
    }
    return peer.accept(chain.compactMap(\.self), others: others.compactMap(\.self))
  }

  private static let reject: @convention(c) (UnsafeMutableRawPointer, Int32, OpaquePointer?, Int32) -> Void = {
    owner, result, certificate, depth in
    Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue().refused = VerifyFailure(
      result: result, certificate: certificate.flatMap { PeerCertificate($0) }, depth: Int(depth))
  }

  private static let hearAlert: @convention(c) (UnsafeMutableRawPointer, Int32, Bool) -> Void = {
    owner, alert, askedInVain in
    let peer = Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue()
    if alert == SSL_AD_CLOSE_NOTIFY {
      peer.hasClosedCleanly = true
    } else {
      peer.alert = TLSAlert(value: alert, certificateWasMissing: askedInVain)
    }
  }

  private static let logKey: @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>) -> Void = { owner, line in
    Unmanaged<TLSPeer>.fromOpaque(owner).takeUnretainedValue().terms.files.keyLog?.append(line)
  }

  /// Returns the peer of the TLS connection that serves a handle; `nil` for plain text. Call it only within a callback
  /// of the handle.
  static func of(_ easy: EasyHandle) -> TLSPeer? {
    clastro_owner_of(easy.raw).map { Unmanaged<TLSPeer>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let release: @convention(c) (UnsafeMutableRawPointer) -> Void = { owner in
    Unmanaged<TLSPeer>.fromOpaque(owner).release()
  }
}

extension TLSPeer {
  /// Returns the error if OpenSSL, a judge, or an alert of the peer ended the handshake. They know the reason better
  /// than libcurl.
  ///
  /// - Parameter code: libcurl's result; `nil` if libcurl is not involved.
  func refusal(_ code: CURLcode?) -> TransportError? {
    let engineCode = code.map { Int32(bitPattern: $0.rawValue) }
    if let failure { return .refusedTrust(failure, engineCode: engineCode) }
    guard let refused else { return alertFailure(code, requestSent: false) }
    var error = refused.failure(of: target.name, isProxy: role == .proxy)
    error.engineCode = engineCode
    error.refusedCertificate = refused.certificate
    return error
  }

  /// Returns the error if the peer ended TLS with an alert.
  func alertFailure(_ code: CURLcode?, requestSent: Bool) -> TransportError? {
    var error = alert?.failure(role == .proxy ? .proxy : .tls, requestSent: requestSent)
    error?.engineCode = code.map { Int32(bitPattern: $0.rawValue) }
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
  /// Reads the certificates in a stack (`STACK_OF(X509)`) of OpenSSL, with `nil` for those that cannot be read.
  static func all(in stack: OpaquePointer?) -> [PeerCertificate?] {
    (0..<max(0, OPENSSL_sk_num(stack))).map { index in
      OPENSSL_sk_value(stack, index).flatMap { PeerCertificate(OpaquePointer($0)) }
    }
  }

  /// Reads a certificate (`X509`) of OpenSSL.
  init?(_ certificate: OpaquePointer) {
    let length = i2d_X509(certificate, nil)
    guard length > 0 else { return nil }
    let der = [UInt8](unsafeUninitializedCapacity: Int(length)) { space, filled in
      var end = space.baseAddress
      filled = max(0, Int(i2d_X509(certificate, &end)))
    }
    self.init(der: der)
  }
}
