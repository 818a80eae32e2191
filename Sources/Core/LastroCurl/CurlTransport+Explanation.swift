// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroHTTP
internal import LastroWire

extension CurlTransport {
  /// Returns the engine, version, connection, proxy and trust of an exchange.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let options = ownOptions(request.connection)?.options ?? connection
    let isTLS = request.head.scheme == "https"
    let capabilities = CurlCapabilities.current
    var facts: [FetchExplanation.Fact] = [
      .init("engine", "libcurl \(capabilities.curlVersion), \(capabilities.openSSLVersion)"),
      .init("HTTP", Self.version(options.httpVersion, isTLS: isTLS)),
      .init("connections", "up to \(settings.engine.connectionsPerHost) for a host"),
      .init("proxy", proxy(of: request, options, isTLS: isTLS)),
    ]
    if let rules = options.reach.egress, !rules.isUnrestricted { facts.append(.init("egress", rules.explanation)) }
    if let names = options.reach.names { facts.append(.init("resolver", "\(type(of: names.resolver))")) }
    if let path = options.unixSocketPath { facts.append(.init("Unix socket", path)) }
    for resolution in options.resolutions {
      facts.append(.init("address of \(resolution.host):\(resolution.port)", "\(resolution.addresses)"))
    }
    facts.append(.init("trust", isTLS ? Self.trust(options.tls) : "none: plain http"))
    return facts + judges(of: request, options)
  }

  private func judges(of request: TransferRequest, _ options: ConnectionOptions) -> [FetchExplanation.Fact] {
    guard let host = TrustTarget(authority: request.head.authority ?? "", defaultPort: 443)?.host else { return [] }
    let standing = settings.trustJudge, additional = options.tls.trustJudge
    return [standing, standing === additional ? nil : additional].compactMap { judge in
      judge.map { .init("judge", $0.explanation(for: host)) }
    }
  }

  private func proxy(of request: TransferRequest, _ options: ConnectionOptions, isTLS: Bool) -> String {
    if options.unixSocketPath != nil { return "none" }
    do throws(TransportError) {
      let url = try ProxyResolver(options.proxy, environment: settings.environmentProxies)
        .proxy(isTLS: isTLS, authority: request.head.authority ?? "")
      return url.isEmpty ? "none" : "\(ProxyOptions.url(url, bypass: []))"
    } catch {
      return "refused: \(error.message)"
    }
  }

  private static func version(_ version: ConnectionOptions.HTTPVersion, isTLS: Bool) -> String {
    switch version {
    case .automatic: isTLS ? "2 where the server offers it, else 1.1" : "1.1"
    case .http1: "1.1"
    case .http2: isTLS ? "2 where the server offers it, else 1.1" : "2, with prior knowledge"
    }
  }

  private static func trust(_ options: TLSOptions) -> String {
    let roots =
      switch options.roots {
      case .system: "the system's roots"
      case .file(let path): "the roots in \(path)"
      case .directory(let path): "the roots in the directory \(path)"
      case .pem: "given roots"
      }
    let identity =
      options.identity == nil && options.hostIdentities.isEmpty ? "no client certificate" : "a client certificate"
    return "chain to \(roots), and host name; \(options.minimumVersion) at least; \(identity)"
  }
}

extension EgressRules {
  /// A short description of the rules.
  fileprivate var explanation: String {
    (allowsAllClasses ? "all addresses but those that are denied" : "hosts of the Internet, and what is allowed")
      + (trustsProxies ? "; proxies are trusted" : "; no proxies") + ", no Unix sockets"
  }
}
