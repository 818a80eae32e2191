// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The network of a simulation: the names of its servers, the conditions between machines, and partitions.
final class SimulatedNetwork {
  /// A server at a host and port.
  struct Service {
    var machine: MachineCore
    /// The start of the machine that serves.
    var owner: Scheduler.Owner
    var identity: SimulatedIdentity?
    var speaksHTTP2: Bool
    /// Whether it is a proxy, which opens tunnels.
    var opensTunnels = false
    /// The value of `Proxy-Authorization` that a proxy requires; `nil` for none.
    var authorization: String?
    /// Accepts a connection on the far end of a link.
    var accept: (MemoryPeer, _ isHTTP2: Bool) -> Void
  }

  private struct Pair: Hashable {
    var first: String
    var second: String

    init(_ a: String, _ b: String) { (first, second) = a < b ? (a, b) : (b, a) }
  }

  let scheduler: Scheduler
  var defaultConditions = LinkConditions()
  private var particular: [Pair: LinkConditions] = [:]
  /// The conditions that faults impose, the latest last.
  private var imposed: [Pair: [(number: Int, conditions: LinkConditions)]] = [:]
  private var imposedCount = 0
  private var paths: [SimulatedPath] = []
  /// The number of partitions that separate two machines.
  private var cuts: [Pair: Int] = [:]
  /// The number of faults that keep a name from being found.
  private var lostNames: [String: Int] = [:]
  /// The servers of a host and port, such as `api.example:443`, in the order in which they began to listen.
  private var services: [String: [Service]] = [:]
  /// The paths with writes that a partition holds back, in the order of their first such write.
  private var waiting: [SimulatedPath] = []
  private let random: RandomSource

  init(_ scheduler: Scheduler, seed: UInt64) {
    self.scheduler = scheduler
    random = .seeded(seed)
  }

  // MARK: Conditions

  func conditions(_ a: MachineCore, _ b: MachineCore) -> LinkConditions {
    let pair = Pair(a.name, b.name)
    return imposed[pair]?.last?.conditions ?? particular[pair] ?? defaultConditions
  }

  /// Imposes conditions. Returns what ends their effect.
  func impose(_ conditions: LinkConditions, between a: String, and b: String) -> () -> Void {
    imposedCount += 1
    let number = imposedCount, pair = Pair(a, b)
    imposed[pair, default: []].append((number, conditions))
    return { [self] in imposed[pair]?.removeAll { $0.number == number } }
  }

  func setConditions(_ conditions: LinkConditions, between a: String, and b: String) {
    particular[Pair(a, b)] = conditions
  }

  /// Throws an error if conditions are set that no network has.
  func check() throws(ConfigurationError) {
    try defaultConditions.check()
    for conditions in particular.values { try conditions.check() }
  }

  func travelTime(_ conditions: LinkConditions) -> Int64 { conditions.travelTime(random) }

  func isCut(_ a: MachineCore, _ b: MachineCore) -> Bool { cuts[Pair(a.name, b.name)] ?? 0 > 0 }

  func cut(_ a: String, _ b: String) { cuts[Pair(a, b), default: 0] += 1 }

  /// Ends a partition, and sends what it has held back.
  func join(_ a: String, _ b: String) {
    cuts[Pair(a, b), default: 1] -= 1
    let paths = waiting
    waiting = []
    for path in paths { if isCut(path.client, path.server) { waiting.append(path) } else { path.resume() } }
  }

  /// Remembers a path until its partition ends.
  func keep(_ path: SimulatedPath) {
    if !waiting.contains(where: { $0 === path }) { waiting.append(path) }
  }

  func forgetAll() {
    for path in paths { path.forgetAll() }
    paths = []
    waiting = []
    services = [:]
  }

  // MARK: Names

  func loseName(_ host: String) { lostNames[host, default: 0] += 1 }

  func findName(_ host: String) { lostNames[host, default: 1] -= 1 }

  /// Makes a service available; one of the same machine at the same place is replaced.
  func listen(at authority: String, _ service: Service) {
    services[authority, default: []].removeAll { $0.machine === service.machine }
    services[authority, default: []].append(service)
  }

  // MARK: Dials

  /// Opens a connection of a client.
  ///
  /// - Parameters:
  ///   - proxy: the proxy; `nil` for none.
  ///   - judges: the judges of the server, in the order in which they are asked.
  ///   - outcome: called on behalf of the client; never, if a partition does not end.
  func dial(
    _ dial: LinkDial, from host: MachineLoop, through proxy: SimulatedProxy?, judges: [any ServerTrustJudge],
    _ outcome: @escaping (Result<MemoryLink, TransportError>) -> Void
  ) {
    let client = host.machine, first = proxy?.target ?? dial.target
    guard let service = service(of: first, at: proxy == nil ? dial.member : nil) else {
      let lookup = travelTime(defaultConditions) + travelTime(defaultConditions)
      return scheduler.perform(for: client.owner, at: scheduler.now + lookup) {
        outcome(
          .failure(proxy == nil ? .simulatedNameNotFound(first.host.text) : .simulatedProxyNotFound(first.name)))
      }
    }
    let path = path(from: client, to: service)
    let refused = {
      outcome(.failure(proxy == nil ? .simulatedRefusal(by: first.name) : .simulatedProxyRefusal(by: first.name)))
    }
    path.serverIsGone = { [unowned path] in path.carry(0, toPeer: false, refused) }
    // The first packet and its answer.
    roundTrip(on: path) { [self] in
      if let proxy, dial.request.tls != nil {
        openTunnel(dial, through: proxy, service, path, host, judges, outcome)
      } else {
        shakeHands(dial, service, path, host, judges, outcome)
      }
    }
  }

  /// Returns one of the machines that serve at a place, or that with an address; `nil` if there is none, or the name
  /// cannot be found.
  private func service(of target: TrustTarget, at member: MemberAddress? = nil) -> Service? {
    if let member {
      let port = member.port ?? target.port
      return services["\(TrustTarget(host: target.host, port: port).name)"]?.first { $0.machine.address == member.host }
    }
    guard lostNames[target.host.text] ?? 0 == 0, let found = services[target.name], !found.isEmpty else { return nil }
    return found[random.number(below: found.count)]
  }

  private func path(from client: MachineCore, to service: Service) -> SimulatedPath {
    let path = SimulatedPath(self, from: client, to: service.machine, service.owner)
    paths.append(path)
    return path
  }

  private func roundTrip(on path: any MemoryPath, _ then: @escaping () -> Void) {
    path.carry(0, toPeer: true) { path.carry(0, toPeer: false, then) }
  }

  /// Has a proxy connect to the server (CONNECT, RFC 9110 §9.3.6), and shakes hands with the server through the tunnel.
  private func openTunnel(
    _ dial: LinkDial, through proxy: SimulatedProxy, _ service: Service, _ path: SimulatedPath, _ host: MachineLoop,
    _ judges: [any ServerTrustJudge], _ outcome: @escaping (Result<MemoryLink, TransportError>) -> Void
  ) {
    let target = dial.target
    let refuse = { (status: Int) in
      path.carry(0, toPeer: false) {
        outcome(.failure(.simulatedProxyAnswer(status, of: proxy.target.name, to: target.name)))
      }
    }
    path.carry(0, toPeer: true) { [self] in
      guard service.opensTunnels else { return refuse(405) }
      guard service.authorization == nil || service.authorization == proxy.authorization else { return refuse(407) }
      guard let server = self.service(of: target) else { return refuse(502) }
      let second = self.path(from: service.machine, to: server)
      second.serverIsGone = { [unowned second] in second.carry(0, toPeer: false) { refuse(502) } }
      let tunnel = TunnelPath(path, second)
      roundTrip(on: second) { [self] in
        path.carry(0, toPeer: false) { [self] in
          shakeHands(dial, server, tunnel, host, judges) { result in
            if case .success(let link) = result { service.machine.add(link.far) }
            outcome(result)
          }
        }
      }
    }
  }

  /// Opens a link after the handshake of TLS, if there is one, which takes another round trip (RFC 8446 §2).
  private func shakeHands(
    _ dial: LinkDial, _ service: Service, _ path: any MemoryPath, _ host: MachineLoop,
    _ judges: [any ServerTrustJudge], _ outcome: @escaping (Result<MemoryLink, TransportError>) -> Void
  ) {
    guard let tls = dial.request.tls else { return open(dial, service, path, host, judges, nil, outcome) }
    roundTrip(on: path) { [self] in
      let protocols = service.speaksHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
      let agreed = protocols.first { tls.applicationProtocols.contains($0) } ?? "http/1.1"
      open(dial, service, path, host, judges, agreed, outcome)
    }
  }

  /// - Parameter agreed: the protocol of the handshake; `nil` without TLS.
  private func open(
    _ dial: LinkDial, _ service: Service, _ path: any MemoryPath, _ host: MachineLoop,
    _ judges: [any ServerTrustJudge], _ agreed: String?, _ outcome: (Result<MemoryLink, TransportError>) -> Void
  ) {
    let revisions = judges.map { (judge: $0, revision: $0.revision) }
    let verdict: TrustVerdict
    do throws(TransportError) {
      verdict = try self.verdict(on: service, dial.target, isTLS: agreed != nil, for: host.machine, judges)
    } catch {
      return outcome(.failure(error))
    }
    var facts = LinkFacts()
    facts.hasTLS = agreed != nil
    facts.applicationProtocol = agreed
    facts.remoteAddress = service.machine.address
    facts.remotePort = dial.target.port
    let link = MemoryLink(host, facts: facts, isTLS: facts.hasTLS)
    link.verdict = verdict
    link.rulesApply = { revisions.allSatisfy { $0.judge.revision == $0.revision } }
    host.add(link)
    link.far.path = path
    let far = link.far
    if let tunnel = path as? TunnelPath {
      tunnel.toServer.serverIsGone = { [weak far] in far?.reset() }
      tunnel.toProxy.serverIsGone = { [weak far] in if let far { tunnel.reset(far) } }
    } else if let path = path as? SimulatedPath {
      path.serverIsGone = { [weak far] in far?.reset() }
    }
    service.accept(link.far, agreed == "h2")
    outcome(.success(link))
  }

  /// Checks the server's identity as a handshake would, and asks the judges.
  private func verdict(
    on service: Service, _ target: TrustTarget, isTLS: Bool, for machine: MachineCore, _ judges: [any ServerTrustJudge]
  ) throws(TransportError) -> TrustVerdict {
    var verdict = isTLS ? TrustVerdict.validated : .plain
    let identity = service.identity ?? SimulatedIdentity()
    if isTLS { try identity.check(target.host, at: .nanoseconds(scheduler.date(of: machine.owner))) }
    let trust = ServerTrust(host: target.host, port: target.port, chain: identity.chain)
    do throws(TrustFailure) {
      for judge in judges {
        verdict = isTLS ? try judge.judge(trust) : try judge.judgePlaintext(host: target.host, port: target.port)
      }
    } catch {
      throw .refusedTrust(error)
    }
    return verdict
  }
}

extension TransportError {
  static func simulatedNameNotFound(_ host: String) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound, message: "cannot resolve \(host): no machine of the simulation serves it",
      hint: "add a server for it, or wait until the fault has ended")
  }

  static func simulatedRefusal(by authority: String) -> Self {
    Self(
      stage: .connect, code: .connectFailed, message: "cannot connect to \(authority): the machine refuses",
      hint: "wait until the machine has been restarted")
  }
}
