// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension Transfer {
  enum Restart {
    /// libcurl took a pooled connection on which something lies already. libcurl 7.88 would take it for the answer.
    case onFreshConnection
    /// What its connection was trusted by has changed.
    case underCurrentTrust
    /// Its connection died of it: the only one of these for which bytes have left.
    case again
  }

  enum TrustCheck {
    case trusted(TrustVerdict)
    /// Nothing was sent yet, and cannot be on this connection.
    case restart(Restart)
    case refused(TransportError)
  }

  /// Whether the request may be sent on the connection that libcurl chose: new, pooled, shared with other streams, or for
  /// a resend. Asked before every sending.
  func checkTrust(of connection: OpaquePointer?) -> TrustCheck {
    guard trust.isCurrent(now: lastActivity) else {
      return requestSent
        ? .refused(.connectionLost("the rules of trust changed when the request was to be sent again"))
        : .restart(.underCurrentTrust)
    }
    guard host.key.isTLS else { return .trusted(.plain) }
    guard clastro_connection_is_ready(easy.raw) else {
      return requestSent
        ? .refused(.connectionLost("there was no secured connection when the request was to be sent again"))
        : .restart(.onFreshConnection)
    }
    guard !trust.rules.isEmpty else { return .trusted(.validated) }
    do throws(TrustFailure) {
      guard let connection else { throw .unproven(host.target) }
      let peer = Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner(connection)).takeUnretainedValue()
      return .trusted(try peer.admit(host.target))
    } catch {
      return .refused(.refusedTrust(error))
    }
  }

  /// A TLS connection is about to be made for it (`CURLOPT_SSL_CTX_FUNCTION`), to the server or its https proxy.
  func prepareTLS(_ context: UnsafeMutableRawPointer) -> Bool {
    let isMarked = clastro_context_takes_proxy_mark(context)
    // The mark counts only where both are possible.
    let isProxy = host.proxyTarget != nil && (isMarked || !host.key.isTLS)
    guard let target = isProxy ? host.proxyTarget : host.target else { return false }
    peer = trust.attach(
      context, to: target, role: isProxy ? .proxy : .server, recordsChain: job.isInspection && !isProxy,
      readsSocket: isProxy || host.proxyTarget == nil)
    return peer != nil
  }
}
