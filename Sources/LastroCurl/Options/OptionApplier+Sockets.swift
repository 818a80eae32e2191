// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroWire

extension OptionApplier {
  /// Refuses a way on which the addresses that are connected to cannot be judged.
  ///
  /// - Parameter proxy: its URL; empty for none.
  func checkEgress(to target: TrustTarget, proxy: String) throws(TransportError) {
    guard let rules = egressRules else { return }
    if options.unixSocketPath != nil { throw .egressDenied(.unixSocket) }
    if proxy.isEmpty { return }
    if !rules.trustsProxies { throw .egressDenied(.proxy) }
    if let refusal = rules.refusal(ofLiteral: target) { throw refusal }
  }

  /// Has libcurl ask us for its sockets.
  ///
  /// - Parameter proxy: its URL; empty for none. Addresses of proxies are not judged.
  /// - Returns: what has to live until it is connected.
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
