// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The gate of a target. It sets the rules of each new TLS connection on the path to the target, and admits a
/// connection before anything is sent to the target on it.
///
/// Each dialed connection has a gate, and so has each TLS connection over a stream. Only the gate decides which peers
/// may be contacted. Thread: that of its owner.
final class TLSGate {
  let target: TrustTarget
  /// The target's role in the request.
  let role: ServerTrust.Role
  /// Whether TLS is used with the target, and not only with its proxy.
  let isTLS: Bool
  /// The https proxy on the path to the target.
  let proxyTarget: TrustTarget?
  private let terms: TLSTerms
  /// The only judge of the target; with it, chain and host name are not checked.
  private let onlyJudge: (any ServerTrustJudge)?
  /// Whether the target's chain is recorded, which requires a verdict, even if there is no judge.
  private let recordsChain: Bool

  /// Whether the target's certificate must be for its host name. That of a proxy always must.
  var checksHostName: Bool { role == .proxy || terms.checksHostName }

  /// Creates a gate.
  ///
  /// - Throws: code `unsupported` if a SPIFFE ID is required, and a sole judge has to replace the check of the chain.
  init(
    _ target: TrustTarget, role: ServerTrust.Role = .server, isTLS: Bool = true, proxyTarget: TrustTarget? = nil,
    terms: TLSTerms, onlyJudge: (any ServerTrustJudge)? = nil, recordsChain: Bool
  ) throws(TransportError) {
    if onlyJudge != nil, isTLS, role == .server, !terms.checksHostName { throw .unprovableSPIFFEID }
    self.target = target
    self.role = role
    self.isTLS = isTLS
    self.proxyTarget = proxyTarget
    self.terms = terms
    self.onlyJudge = onlyJudge
    self.recordsChain = recordsChain
  }

  /// Whether there is a TLS connection on the path.
  var isNeeded: Bool { isTLS || proxyTarget != nil }

  /// Returns the https proxy that a URL names; `nil` for another kind of proxy, or none.
  static func proxyTarget(of proxy: String) throws(TransportError) -> TrustTarget? {
    guard proxy.lowercased().hasPrefix("https:") else { return nil }
    // The default port of https proxies in libcurl.
    guard let target = TrustTarget(authority: ForwardProxy.name(of: proxy), defaultPort: 443) else {
      throw .unreadableProxyHost
    }
    return target
  }

  // MARK: In libcurl's hook, or before OpenSSL begins

  /// Applies the rules to the context of a new connection. Returns its peer, and whether that is the https proxy; `nil`
  /// if it is impossible to apply them. The connection must not be made then.
  func attach(to context: UnsafeMutableRawPointer) -> (peer: TLSPeer, isProxy: Bool)? {
    let isMarked = clastro_context_takes_proxy_mark(context)
    // The mark is relevant only if both connections are possible.
    let isProxy = proxyTarget != nil && (isMarked || !isTLS)
    guard let target = isProxy ? proxyTarget : target else { return nil }
    let peer = TLSPeer(
      target: target, role: isProxy ? .proxy : role, terms: terms, onlyJudge: isProxy ? nil : onlyJudge)
    // If one connection runs within another, the outer one reads the socket.
    let turn = isProxy || proxyTarget == nil ? terms.turn : nil
    let isAttached = peer.attach(to: context, recordsChain: !isProxy && recordsChain, turn: turn)
    return isAttached ? (peer: peer, isProxy: isProxy) : nil
  }

  // MARK: Before something is sent

  /// Returns the verdict by which data may be sent to the target on a connection of libcurl. Call it only within a
  /// callback of the handle.
  ///
  /// - Parameter peer: the peer of the connection that serves `easy`; `nil` if there is none.
  func admit(_ peer: TLSPeer?, of easy: EasyHandle) throws(TrustFailure) -> TrustVerdict {
    guard isTLS else { return .plain }
    guard let ssl = clastro_tls_of(easy.raw), SSL_is_init_finished(ssl) == 1 else { throw .unproven(target) }
    return try admit(peer)
  }

  /// Returns the verdict by which data may be sent to a peer whose handshake has ended. It fails closed: if a verdict
  /// is required, the connection's own peer has to provide it, and has to have the target's host, port and role.
  func admit(_ peer: TLSPeer?) throws(TrustFailure) -> TrustVerdict {
    guard !terms.rules.isEmpty || recordsChain else { return .validated }
    guard let peer, peer.role == role, peer.target == target, let verdict = peer.verdict else {
      throw .unproven(target)
    }
    return verdict
  }
}

extension TransportError {
  static let unprovableSPIFFEID = refused(
    .unsupported, "a SPIFFE ID is required, and one judge alone is to decide on the certificate, without its chain",
    hint: "require the host name, or verify the chain: trust on first use and unchecked certificates prove no ID")
}
