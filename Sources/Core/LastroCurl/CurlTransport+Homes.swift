// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP

/// The distribution of requests over several loops.
extension CurlTransport {
  /// The lead in requests that a home must have over the second choice for the second choice to help out.
  static let mostAhead = 64

  /// Returns the engine for a request: that of its home, or the second choice's if the home has many more requests.
  ///
  /// A request of a task on the second choice's own thread stays there if a connection is free.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  func port(for request: TransferRequest, _ own: SharedOptions?) -> EnginePort {
    if loops.count == 1 { return loops[0].port }
    let head = request.head
    let choice = HomeLoops(of: poolKey(of: head, own), among: loops.count)
    let home = loops[choice.home].port
    guard let second = loops[choice.second].secondPort else { return home }
    if home.activeJobs - second.activeJobs >= Self.mostAhead { return second }
    return second.loop.isCurrent && second.hasFreeConnection(for: head, own) ? second : home
  }

  /// Returns the hash that identifies the connections that a request can share. The options are not part of it.
  func poolKey(of head: HTTPRequest, _ own: SharedOptions?) -> UInt64 {
    guard head.scheme != "https" else { return HomeLoops.key(ofOrigin: head) }
    let proxies = own.map { settings.forwardProxies(for: $0.options) } ?? forwardProxies
    guard let proxy = proxies?.forwardProxy(for: head.authority ?? "") else { return HomeLoops.key(ofOrigin: head) }
    return HomeLoops.key(ofProxy: proxy)
  }
}

extension CurlSettings {
  /// Returns the proxies of the options; `nil` if no request is sent to a forwarding proxy, which needs the whole URL.
  func forwardProxies(for options: ConnectionOptions) -> ProxyResolver? {
    guard options.proxy != .none, options.unixSocketPath == nil,
      let resolver = try? ProxyResolver(options.proxy, environment: environmentProxies), resolver.mayForward
    else { return nil }
    return resolver
  }
}
