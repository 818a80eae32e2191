// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP

/// A proxy as a client's options name it.
struct SimulatedProxy {
  /// The host and port, such as `proxy.example:3128`.
  let target: TrustTarget
  /// The value of `Proxy-Authorization`; `nil` without user and password.
  let authorization: String?

  /// The origin that connections for forwarded requests lead to.
  var origin: Origin? { try? Origin("http://\(target.name)") }

  /// Returns the proxy of requests to a host; `nil` if they go to the host directly.
  ///
  /// A simulation has no environment: `ProxyOptions.environment` names no proxy.
  ///
  /// - Throws: an error for a URL of another scheme, because simulated proxies speak HTTP without TLS only.
  static func of(_ host: String, in options: ProxyOptions) throws(TransportError) -> SimulatedProxy? {
    guard case .url(let url, let bypass) = options else { return nil }
    let entries = bypass.flatMap { $0.lowercased().split { $0 == "," || $0.isWhitespace } }
    guard !entries.contains(where: { $0 == "*" || $0 == host || host.hasSuffix(".\($0)") }) else { return nil }
    return try SimulatedProxy(url)
  }

  /// - Parameter url: a URL of the scheme `http`, which may be left out.
  init(_ url: String) throws(TransportError) {
    let rest = url.hasPrefix("http://") ? url.dropFirst(7) : url[...]
    let authority = rest.prefix { $0 != "/" }
    let at = authority.lastIndex(of: "@")
    let host = at.map { authority[authority.index(after: $0)...] } ?? authority
    guard !rest.contains("://"), let target = TrustTarget(authority: String(host), defaultPort: 1080) else {
      throw .refused(
        .invalidOption, "the proxy of a simulation has no URL of the form http://HOST:PORT",
        hint: "write it as http://proxy.example:3128, and add the proxy to the world")
    }
    self.target = target
    authorization = at.map { index in
      let parts = authority[..<index].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let decoded = parts.map { $0.percentDecodedBytes ?? Array($0.utf8) }
      return Self.authorization(user: decoded[0], password: decoded.count > 1 ? decoded[1] : [])
    }
  }

  static func authorization(user: [UInt8], password: [UInt8]) -> String {
    "Basic " + Data(user + Array(":".utf8) + password).base64EncodedString()
  }
}

extension TransportError {
  static func simulatedProxyNotFound(_ proxy: String) -> Self {
    Self(
      stage: .proxy, code: .proxyNotFound, message: "cannot resolve the proxy \(proxy)",
      hint: "add the proxy to the world, or wait until the fault has ended")
  }

  static func simulatedProxyRefusal(by proxy: String) -> Self {
    Self(
      stage: .proxy, code: .proxyConnectFailed, message: "cannot connect to the proxy \(proxy)",
      hint: "wait until the machine has been restarted")
  }

  static func simulatedProxyAnswer(_ status: Int, of proxy: String, to target: String) -> Self {
    Self(
      stage: .proxy, code: .proxyRefused, message: "the proxy \(proxy) answered CONNECT \(target) with \(status)",
      hint: status == 407 ? "give user and password in the proxy's URL" : "check the server's machine")
  }
}
