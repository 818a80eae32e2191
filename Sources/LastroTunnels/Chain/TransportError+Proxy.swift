// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension ProxyServer {
  /// As failures name it: without the user.
  var address: String { "\(host.bracketedHost):\(port)" }
}

extension TransportError {
  /// A failure to reach a proxy, told as the proxy's and with its name. What failed at a proxy before it on the way, or
  /// is a matter of trust, says so itself.
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

  /// A failure in the talk with a proxy, with its name.
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

  /// The proxy went away in the handshake.
  static func proxyClosed(_ name: String) -> Self {
    Self(
      stage: .proxy, code: .proxyRefused, message: "\(name) closed the connection instead of opening a tunnel",
      hint: "check that it is a proxy of this kind")
  }
}
