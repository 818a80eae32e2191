// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting

@testable import LastroHTTP

/// The network of a simulation. It opens links in memory after virtual dials, and performs delayed actions of scripts
/// when they are due. It is a guest of a loop that its caller turns.
final class MemoryNetwork: LoopGuest, MemoryLinkHost {
  /// The outcome of a dial.
  enum Dial {
    /// A link opens after the given time. `prepare` sets up the link and the script of its far end.
    case open(after: Duration = .zero, prepare: (MemoryLink) -> Void)
    case failed(TransportError, after: Duration = .zero)
    /// No outcome is ever reported.
    case never
  }

  let clock: ManualClock
  let reactor: MemoryReactor
  /// Decides the outcome of a dial.
  var dialing: (LinkDial) -> Dial = { _ in .never }
  /// Returns the protocol that a server chooses among the offered ones.
  var applicationProtocol: (LinkDial) -> String? = { dial in dial.request.tls == nil ? nil : "http/1.1" }
  /// All dials that were started, in order.
  private(set) var dials: [LinkDial] = []
  /// The dials that were cancelled, in order.
  private(set) var cancelled: [LinkDial] = []
  /// All links that were opened, in order.
  private(set) var links: [MemoryLink] = []
  /// The links that are open, in the order in which they were opened.
  private(set) var openLinks: [MemoryLink] = []
  /// The links that the engine has closed, in order.
  private(set) var closedLinks: [MemoryLink] = []
  private(set) var mostOpen = 0

  private struct Action {
    var time: Int64
    var turn: Int
    var body: () -> Void
  }

  /// The pending actions; the earliest is last.
  private var actions: [Action] = []
  private var actionCount = 0

  init(_ clock: ManualClock, _ reactor: MemoryReactor) {
    self.clock = clock
    self.reactor = reactor
  }

  var now: Int64 { clock.now.nanoseconds }
  var openCount: Int { openLinks.count }
  var cancelledDials: Int { cancelled.count }

  /// Performs an action at a later time, in a turn of the loop.
  func after(_ delay: Duration, _ body: @escaping () -> Void) {
    actionCount += 1
    let action = Action(time: now.adding(delay), turn: actionCount, body: body)
    let index = actions.firstIndex { $0.time <= action.time } ?? actions.endIndex
    actions.insert(action, at: index)
  }

  /// Releases the scripts, which may hold the network.
  func forgetScripts() {
    dialing = { _ in .never }
    actions = []
    for link in links { link.far.forgetScript() }
  }

  func linkClosed(_ link: MemoryLink) {
    openLinks.removeAll { $0 === link }
    closedLinks.append(link)
  }

  // MARK: Guest

  var isEmpty: Bool { true }
  var due: Int64 { actions.last?.time ?? .max }

  func beginTurn() {}

  func ready(_ ready: Readiness) { openLinks.first { $0.id == ready.descriptor }?.ready(ready) }

  func turn(now: Int64) {
    // Actions that these actions schedule run in the next turn.
    let latest = actionCount
    while let index = actions.lastIndex(where: { $0.time <= now && $0.turn <= latest }) {
      actions.remove(at: index).body()
    }
  }

  func shutDown() {}

  func tearDown() { actions = [] }

  // MARK: Dials

  /// Starts a dial.
  ///
  /// - Parameter isWanted: returns whether the dial is still wanted. If not, no link opens.
  func begin(
    _ dial: LinkDial, while isWanted: @escaping () -> Bool,
    _ outcome: @escaping (Result<MemoryLink, TransportError>) -> Void
  ) {
    dials.append(dial)
    switch dialing(dial) {
    case .never: break
    case .failed(let error, let delay): after(delay) { outcome(.failure(error)) }
    case .open(let delay, let prepare):
      after(delay) { [unowned self] in if isWanted() { outcome(.success(open(dial, prepare))) } }
    }
  }

  private func open(_ dial: LinkDial, _ prepare: (MemoryLink) -> Void) -> MemoryLink {
    var facts = LinkFacts()
    facts.hasTLS = dial.request.tls != nil
    facts.applicationProtocol = applicationProtocol(dial)
    facts.remoteAddress = "192.0.2.1"
    facts.remotePort = dial.target.port
    facts.localPort = 10_000 + links.count
    let link = MemoryLink(self, facts: facts, isTLS: facts.hasTLS)
    links.append(link)
    openLinks.append(link)
    mostOpen = max(mostOpen, openCount)
    prepare(link)
    return link
  }

  func noteCancelled(_ dial: LinkDial) { cancelled.append(dial) }
}

/// The connector of an engine over a ``MemoryNetwork``.
final class MemoryConnector: Connector {
  /// The state of every route. It does not keep the connector alive, because the network holds the routes of its dials.
  private final class State: RouteState {
    private weak var connector: MemoryConnector?

    init(_ connector: MemoryConnector) { self.connector = connector }

    func mustCheck(now: Int64) -> Bool { connector?.mustCheck == true }

    func check(until: Int64, _ proceed: @escaping () -> Void) { connector?.check(until: until, proceed) }
  }

  private let network: MemoryNetwork
  private var dials: [UInt64: LinkDial] = [:]
  /// Whether a check must precede the next request, to find out whether links are current.
  var mustCheck = false
  /// The time that a check takes.
  var checkTime = Duration.zero
  private(set) var checks = 0

  init(_ network: MemoryNetwork) { self.network = network }

  /// The number of dials without an outcome.
  var dialCount: Int { dials.count }

  /// Returns the number of dials to a host without an outcome.
  func dialsUnderWay(to host: String) -> Int {
    dials.values.count { $0.target.host.text == host }
  }

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    Route(
      key: key.authority, origin: try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)"), state: State(self))
  }

  fileprivate func check(until: Int64, _ proceed: @escaping () -> Void) {
    checks += 1
    network.after(min(checkTime, .nanoseconds(until - network.now))) { [unowned self] in
      mustCheck = false
      proceed()
    }
  }

  func dial(_ dial: LinkDial, for owner: HostPool) {
    let id = dial.id
    dials[id] = dial
    network.begin(dial, while: { [weak self] in self?.dials[id] != nil }) { [weak self, weak owner] outcome in
      guard let self, dials.removeValue(forKey: id) != nil else { return }
      switch outcome {
      case .success(let link): owner?.linkOpened(id, link)
      case .failure(let error): owner?.dialFailed(id, error)
      }
    }
  }

  func cancelDial(_ id: UInt64) { dials.removeValue(forKey: id).map(network.noteCancelled) }
}
