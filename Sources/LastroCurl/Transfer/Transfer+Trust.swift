// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroExchange

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

  /// Whether the request may be sent on the connection that libcurl chose: new, pooled, shared with other HTTP/2
  /// streams, or for a resend. Asked before every sending.
  ///
  /// - Parameter address: what is connected to.
  func checkTrust(of connection: OpaquePointer?, to address: UnsafePointer<CChar>?, port: Int32) -> TrustCheck {
    if let refusal = egressRefusal(connectedTo: address.map { String(cString: $0) }, port: Int(port)) {
      return .refused(refusal)
    }
    guard trust.isCurrent(now: lastActivity) else {
      return requestSent
        ? .refused(.rulesChangedBeforeResend)
        : .restart(.underCurrentTrust)
    }
    switch host.gate.admit(connection, of: easy) {
    case .admitted(let verdict): return .trusted(verdict)
    case .unready where requestSent:
      return .refused(.unsecuredBeforeResend)
    case .unready: return .restart(.onFreshConnection)
    case .refused(let failure): return .refused(.refusedTrust(failure))
    }
  }

  private func egressRefusal(connectedTo address: String?, port: Int) -> TransportError? {
    let refusal = egress?.refusal(connectedTo: address, port: port, of: host.gate.target)
    return requestSent ? refusal?.afterSending : refusal
  }

  /// A TLS connection is about to be made for it (`CURLOPT_SSL_CTX_FUNCTION`), to the server or its https proxy.
  func prepareTLS(_ context: UnsafeMutableRawPointer) -> Bool {
    peer = host.gate.attach(to: context, isInspected: job.isInspection)?.peer
    return peer != nil
  }
}
