// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroExchange

extension Transfer {
  /// How far it had come, for telling what libcurl's result means. In the turn in which libcurl ended it.
  var standing: CurlCode.Standing {
    CurlCode.Standing(
      isProxied: isProxied, requestSent: requestSent, hasSentAll: hasSentAll, hasHead: response != nil,
      isEndedByPeer: isEndedByPeer, hasClientCertificate: host.key.isTLS && job.options.tls.hasIdentity)
  }

  /// Who was to be reached.
  var ends: CurlCode.Ends {
    let target = host.gate.target
    return CurlCode.Ends(
      server: target.name, host: target.host.text, proxy: host.proxyName, socket: job.options.unixSocketPath,
      connectTimeout: job.request.connectTimeout)
  }

  private var hasSentAll: Bool {
    let body = job.request.body
    if body.isEmpty { return true }
    if let length = body.length { return Int64(uploadOffset) == length }
    if case .end? = job.upload?.peek() { return true }
    return false
  }

  /// Told by close_notify, which comes before the end of the socket, or by that.
  private var isEndedByPeer: Bool { hasCloseNotify || localPort.map { host.isEnded(localPort: $0) } ?? false }
}

extension StreamSession {
  /// The same for a stream that is dialed, during which nothing is sent.
  var standing: CurlCode.Standing {
    CurlCode.Standing(isProxied: isProxied, hasClientCertificate: isTLS && profile.options.tls.hasIdentity)
  }
}

extension StreamSession {
  /// Who was to be reached.
  var ends: CurlCode.Ends {
    CurlCode.Ends(
      server: dial.name, host: dial.host.text, proxy: TrustTarget.proxyName(proxy),
      socket: profile.options.unixSocketPath, connectTimeout: dial.request.connectTimeout)
  }
}

extension TLSOptions {
  fileprivate var hasIdentity: Bool { identity != nil || !hostIdentities.isEmpty }
}
