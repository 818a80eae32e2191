// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension ProxyServer {
  /// The proxy's name in errors, without the user.
  var address: String { "\(host.bracketedHost):\(port)" }
}

extension TransportError {
  /// Returns the error of dialing a proxy as a proxy error with the proxy's name. An error of an earlier proxy, or one
  /// of trust, is returned unchanged.
  func reaching(_ proxy: String) -> Self {
    var error = self
    switch stage {
    case .resolve: (error.stage, error.code) = (.proxy, .proxyNotFound)
    case .connect:
      error.stage = .proxy
      if code == .connectFailed { error.code = .proxyConnectFailed }
    case .timeout: break
    default: return self
    }
    error.message = "\(proxy) cannot be reached: \(message)"
    error.hint = hint ?? "check that the proxy runs, and listens there"
    return error
  }

  /// Returns the error of a proxy handshake with the proxy's name.
  func talking(to proxy: String) -> Self {
    var error = self
    switch stage {
    case .timeout: error.message = "\(proxy) opened no tunnel: \(message)"
    case .send, .response:
      error.stage = .proxy
      error.message = "\(proxy) ended the connection instead of opening a tunnel: \(message)"
    default: break
    }
    return error
  }

  /// Returns the error of a proxy that closed the connection during the handshake.
  static func proxyClosed(_ name: String) -> Self {
    Self(
      stage: .proxy, code: .proxyRefused, message: "\(name) closed the connection instead of opening a tunnel",
      hint: "check that it is a proxy of this kind")
  }
}
