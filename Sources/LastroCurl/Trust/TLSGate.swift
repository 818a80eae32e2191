// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The gate of a target: sets the rules of each new TLS connection on the path to it, and admits a connection before
/// something is sent to the target on it.
///
/// Each dialed connection has one, and so has each TLS over a stream. Which peers may be talked to is decided here
/// alone. Thread: that of its owner.
final class TLSGate {
  /// A connection that has just begun.
  struct Beginning {
    let peer: TLSPeer
    /// Whether it is the one to the https proxy on the way.
    let isProxy: Bool
  }

  enum Admission {
    case admitted(TrustVerdict)
    /// Its handshake is not over: nothing may be sent yet.
    case unready
    case refused(TrustFailure)
  }

  let target: TrustTarget
  /// The target's role in the request.
  let role: ServerTrust.Role
  /// Whether TLS is spoken with the target, and not with its proxy alone.
  let isTLS: Bool
  /// The https proxy on the way.
  let proxyTarget: TrustTarget?
  private let terms: TLSTerms
  /// Decides alone about the target, where chain and host name do not count.
  private let onlyJudge: (any ServerTrustJudge)?
  /// Whether the target's chain is wanted, and with it a verdict, even where there is no judge.
  private let recordsChain: Bool

  init(
    _ target: TrustTarget, role: ServerTrust.Role = .server, isTLS: Bool = true, proxyTarget: TrustTarget? = nil,
    terms: TLSTerms, onlyJudge: (any ServerTrustJudge)? = nil, recordsChain: Bool
  ) {
    self.target = target
    self.role = role
    self.isTLS = isTLS
    self.proxyTarget = proxyTarget
    self.terms = terms
    self.onlyJudge = onlyJudge
    self.recordsChain = recordsChain
  }

  /// Whether there is a TLS connection on the way at all.
  var isNeeded: Bool { isTLS || proxyTarget != nil }

  /// The https proxy that a URL names; `nil` for another proxy, and none.
  static func proxyTarget(of proxy: String) throws(TransportError) -> TrustTarget? {
    guard proxy.lowercased().hasPrefix("https:") else { return nil }
    guard let target = TrustTarget(proxy: proxy) else {
      throw .unreadableProxyHost
    }
    return target
  }

  // MARK: In libcurl's hook, or before OpenSSL begins

  /// Has libcurl call `hook` with each new context of a handle, and `owner` with it.
  static func install(
    _ hook: @escaping clastro_context_callback, on easy: EasyHandle, owner: UnsafeMutableRawPointer
  ) throws(TransportError) {
    guard clastro_install_context_hook(easy.raw, hook, owner) == CURLE_OK else {
      throw .noContextHook
    }
  }

  /// Has the context of a new connection obey. `nil` when it cannot be: such a connection must not come about.
  ///
  /// - Parameter isInspected: whether the target's chain is wanted this time.
  func attach(to context: UnsafeMutableRawPointer, isInspected: Bool = false) -> Beginning? {
    let isMarked = clastro_context_takes_proxy_mark(context)
    // The mark counts only where both are possible.
    let isProxy = proxyTarget != nil && (isMarked || !isTLS)
    guard let target = isProxy ? proxyTarget : target, let store = terms.files.roots else { return nil }
    let peer = TLSPeer(
      target: target, role: isProxy ? .proxy : role, rules: terms.rules, keyLog: terms.files.keyLog,
      onlyJudge: isProxy ? nil : onlyJudge)
    let recordsChain = !isProxy && (self.recordsChain || isInspected)
    let isAttached = peer.attach(to: context, roots: store, recordsChain: recordsChain) { rules in
      rules.shows_roots_to_curl = terms.showsRootsToCurl
      rules.is_strict = terms.isStrict
      rules.allows_resumption = terms.allowsResumption && !recordsChain
      // Of two connections, one inside of the other, the outer one reads the socket.
      rules.turn = isProxy || proxyTarget == nil ? terms.turn : nil
    }
    return isAttached ? Beginning(peer: peer, isProxy: isProxy) : nil
  }

  // MARK: Before something is sent

  /// Whether something may be sent to the target on a connection of libcurl's. Only inside a callback of the handle's.
  ///
  /// - Parameters:
  ///   - connection: what is known of the connection that serves `easy`; `nil` where nothing is.
  func admit(_ connection: OpaquePointer?, of easy: EasyHandle) -> Admission {
    guard isTLS else { return .admitted(.plain) }
    guard clastro_connection_is_ready(easy.raw) else { return .unready }
    return admit(connection.map { Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner($0)).takeUnretainedValue() })
  }

  /// Whether something may be sent to a peer whose handshake is over. Fails closed: where a verdict is due, the
  /// connection's own peer has to show it.
  func admit(_ peer: TLSPeer?) -> Admission {
    guard !terms.rules.isEmpty || recordsChain else { return .admitted(.validated) }
    do throws(TrustFailure) {
      guard let peer else { throw .unproven(target) }
      return .admitted(try peer.admit(target, as: role))
    } catch {
      return .refused(error)
    }
  }
}
