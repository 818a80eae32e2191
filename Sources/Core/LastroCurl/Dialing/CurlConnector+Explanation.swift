// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP
internal import LastroWire

extension CurlConnector {
  /// Returns the facts that `explain` shows about the route of a request: the engine, the proxy and the trust.
  static func explain(
    _ request: TransferRequest, with options: ConnectionOptions, _ settings: CurlSettings
  ) -> [FetchExplanation.Fact] {
    let isTLS = request.head.scheme == "https"
    let capabilities = CurlCapabilities.current
    var facts: [FetchExplanation.Fact] = [
      .init("engine", "libcurl \(capabilities.curlVersion), \(capabilities.openSSLVersion)"),
      .init("proxy", proxy(of: request, options, settings, isTLS: isTLS)),
    ]
    if let rules = options.reach.egress, !rules.isUnrestricted { facts.append(.init("egress", rules.explanation)) }
    if let names = options.reach.names { facts.append(.init("resolver", "\(type(of: names.resolver))")) }
    if let path = options.unixSocketPath { facts.append(.init("Unix socket", path)) }
    for resolution in options.resolutions {
      facts.append(.init("address of \(resolution.host):\(resolution.port)", "\(resolution.addresses)"))
    }
    facts.append(.init("trust", isTLS ? Self.trust(options.tls) : "none: plain http"))
    return facts + judges(of: request, options, settings)
  }

  private static func judges(
    of request: TransferRequest, _ options: ConnectionOptions, _ settings: CurlSettings
  ) -> [FetchExplanation.Fact] {
    guard let host = TrustTarget(authority: request.head.authority ?? "", defaultPort: 443)?.host else { return [] }
    return JudgePanel(standing: settings.trustJudge, options.tls).judges.map {
      .init("judge", $0.explanation(for: host))
    }
  }

  private static func proxy(
    of request: TransferRequest, _ options: ConnectionOptions, _ settings: CurlSettings, isTLS: Bool
  ) -> String {
    if options.unixSocketPath != nil { return "none" }
    do throws(TransportError) {
      let url = try ProxyResolver(options.proxy, environment: settings.environmentProxies)
        .proxy(isTLS: isTLS, authority: request.head.authority ?? "")
      return url.isEmpty ? "none" : "\(ProxyOptions.url(url, bypass: []))"
    } catch {
      return "refused: \(error.message)"
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
    let newest = options.maximumVersion.map { ", \($0) at most" } ?? ""
    let name = options.peer == .hostName ? "host name" : "SPIFFE ID"
    return "chain to \(roots), and \(name); \(options.minimumVersion) at least\(newest); \(identity)"
  }
}

extension EgressRules {
  /// A short description of the rules.
  fileprivate var explanation: String {
    (allowsAllClasses ? "all addresses but those that are denied" : "hosts of the Internet, and what is allowed")
      + (trustsProxies ? "; proxies are trusted" : "; no proxies") + ", no Unix sockets"
  }
}
