// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The transport of a simulated machine: the engine that also serves `CurlNetworkStack`, over connections in memory.
final class SimulatedTransport: Transport {
  private let port: EnginePort

  init(_ port: EnginePort) { self.port = port }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    try await port.execute(request, own: request.connection.map { SharedOptions($0) }, asks: request.asks)
  }
}

/// The connector of a simulated machine's engine.
final class SimulatedConnector: Connector {
  private let network: SimulatedNetwork
  private let host: MachineLoop
  private let options: ConnectionOptions
  private var dials: [UInt64: HostPool] = [:]

  /// - Parameter options: the transport's own options, whose judge is asked about every server.
  init(_ network: SimulatedNetwork, _ host: MachineLoop, _ options: ConnectionOptions) {
    self.network = network
    self.host = host
    self.options = options
  }

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    let origin = try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)")
    guard !key.isTLS, let proxy = try SimulatedProxy.of(origin?.host ?? "", in: options.options.proxy) else {
      return Route(key: key.authority, origin: origin)
    }
    return Route(
      key: "http://\(proxy.authorization ?? "")@\(proxy.target.name)", origin: proxy.origin,
      proxy: ForwardingProxy(authorization: proxy.authorization))
  }

  func dial(_ dial: LinkDial, for owner: HostPool) throws(TransportError) {
    let id = dial.id
    guard dial.options.options.tls.peer == .hostName else {
      throw .refused(
        .unsupported, "simulated servers have no SPIFFE IDs", hint: "test IDs over sockets, with a server on loopback")
    }
    let proxy = try SimulatedProxy.of(dial.target.host.text, in: dial.options.options.proxy)
    dials[id] = owner
    let own = options.tls.trustJudge, given = dial.options.options.tls.trustJudge
    var judges = [own].compactMap(\.self)
    if let given, given !== own { judges.append(given) }
    network.dial(dial, from: host, through: proxy, judges: judges) { [weak self] in self?.dialed(id, $0) }
    guard let limit = dial.request.connectTimeout ?? dial.deadline else { return }
    host.after(limit) { [weak self] in
      self?.dialed(id, .failure(.dialTimedOut(to: dial.target.name, within: limit)))
    }
  }

  private func dialed(_ id: UInt64, _ outcome: Result<MemoryLink, TransportError>) {
    guard let owner = dials.removeValue(forKey: id) else {
      if case .success(let link) = outcome { link.close() }
      return
    }
    switch outcome {
    case .success(let link): owner.linkOpened(id, link)
    case .failure(let error): owner.dialFailed(id, error)
    }
  }

  func cancelDial(_ id: UInt64) { dials[id] = nil }
}
