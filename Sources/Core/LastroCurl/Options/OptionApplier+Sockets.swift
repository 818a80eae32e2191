// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroWire

extension OptionApplier {
  /// Refuses a route on which the connected addresses cannot be checked.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none.
  func checkEgress(to target: TrustTarget, proxy: String) throws(TransportError) {
    guard let rules = egressRules else { return }
    if options.unixSocketPath != nil { throw .egressDenied(.unixSocket) }
    if proxy.isEmpty { return }
    if !rules.trustsProxies { throw .egressDenied(.proxy) }
    if let refusal = rules.refusal(ofLiteral: target) { throw refusal }
  }

  /// Makes libcurl open its sockets through our callbacks.
  ///
  /// - Parameter proxy: the proxy's URL; empty if there is none. Addresses of proxies are not checked.
  /// - Returns: an object that must live until the connection is made.
  func installSockets(on easy: EasyHandle, proxy: String) -> EgressGate? {
    let keeper = Unmanaged.passUnretained(poller).toOpaque()
    guard let rules = egressRules, proxy.isEmpty else {
      clastro_install_socket_keeper(easy.raw, keeper, Poller.openSocket, keeper, Poller.closeSocket)
      return nil
    }
    let gate = EgressGate(rules, poller: poller)
    clastro_install_socket_keeper(
      easy.raw, Unmanaged.passUnretained(gate).toOpaque(), EgressGate.openSocket, keeper, Poller.closeSocket)
    return gate
  }
}
