// SPDX-License-Identifier: Apache-2.0

import Lastro

@testable import LastroHTTP

/// A plain model of the requests, dials and connections around a ``HostMachine``. It performs the machine's steps, and
/// knows the possible next events.
struct HostWorld: Hashable {
  /// An event that may happen.
  enum Choice: Hashable {
    case request
    case cancel(UInt64)
    case dialOpens(UInt64)
    /// The connection ends before the client can use it.
    case dialOpensUnfit(UInt64)
    case dialOpensMultiplexed(UInt64, allowed: Int)
    case dialFails(UInt64, isLate: Bool)
    case dialIsWasted(UInt64)
    /// The response is complete, and the connection is free.
    case finish(UInt64)
    /// The response is complete or failed, and the connection closes.
    case lose(UInt64)
    /// The connection closes before a byte of the response, and the request is sent again on a fresh connection.
    case resend(UInt64)
    case drain(UInt64)
    /// The server closes a free connection, and the client notices when it uses the connection.
    case die(UInt64)
    /// The server closes a free connection, and the client notices at once.
    case closeIdle(UInt64)
    case allow(UInt64, Int)
    case goAway(UInt64)
    /// An HTTP/2 connection ends. Its requests fail, or are sent again.
    case end(UInt64, sendsAgain: Bool)
    case requireHTTP1
    case service
  }

  enum RequestState: Hashable {
    case waiting
    case running(UInt64)
    case draining(UInt64)
    case done
    case failed
  }

  struct Connection: Hashable {
    var isMultiplexed = false
    var allowed = 1
    var isRetired = false
    /// Whether the connection has died without the client noticing.
    var isDead = false
    var served = 0
  }

  let limits: HostMachine.Limits
  private(set) var machine: HostMachine
  private(set) var requests: [UInt64: RequestState] = [:]
  private(set) var connections: [UInt64: Connection] = [:]
  private(set) var dials: Set<UInt64> = []
  /// The connections that the machine reported as idle.
  private(set) var idle: Set<UInt64> = []
  private(set) var wantsService = false
  /// Whether the server may speak HTTP/2, according to the last link and the server itself. If so, requests share a
  /// dial.
  private var maySpeakHTTP2: Bool
  /// Whether the options or the server require HTTP/1.1.
  private var requiresHTTP1: Bool
  private var wantsFresh: Set<UInt64> = []
  private var latest: UInt64 = 0
  private(set) var now: Int64 = 0
  /// The rules that were broken.
  private(set) var faults: [String] = []
  private(set) var stepCount = 0

  init(_ limits: HostMachine.Limits, _ version: ConnectionOptions.HTTPVersion = .automatic) {
    self.limits = limits
    machine = HostMachine(limits, HostVersions(version, isTLS: true))
    requiresHTTP1 = version == .http1
    maySpeakHTTP2 = !requiresHTTP1
  }

  // MARK: What may happen

  /// Returns the possible next events, in a fixed order.
  ///
  /// - Parameter mostRequests: the maximum number of requests in total.
  func choices(mostRequests: Int) -> [Choice] {
    if wantsService { return [.service] }
    var choices: [Choice] = requests.count < mostRequests ? [.request] : []
    for dial in dials.sorted() {
      choices += [
        .dialOpens(dial), .dialOpensUnfit(dial), .dialOpensMultiplexed(dial, allowed: 1),
        .dialOpensMultiplexed(dial, allowed: 2), .dialOpensMultiplexed(dial, allowed: 0),
        .dialFails(dial, isLate: false), .dialFails(dial, isLate: true), .dialIsWasted(dial),
      ]
    }
    for (request, state) in requests.sorted(by: { $0.key < $1.key }) {
      switch state {
      case .waiting: choices.append(.cancel(request))
      case .running(let connection):
        choices += [.cancel(request), .finish(request)]
        if connections[connection]?.isMultiplexed == false {
          choices += [.lose(request), .drain(request)]
          if connections[connection]?.served ?? 0 > 1 { choices.append(.resend(request)) }
        }
      case .draining: choices += [.finish(request), .lose(request)]
      case .done, .failed: break
      }
    }
    for (id, connection) in connections.sorted(by: { $0.key < $1.key }) {
      if connection.isMultiplexed {
        choices += [.allow(id, 0), .allow(id, 2), .end(id, sendsAgain: true), .end(id, sendsAgain: false)]
        if !connection.isRetired { choices.append(.goAway(id)) }
      } else if idle.contains(id) {
        choices += connection.isDead ? [] : [.die(id)]
        choices.append(.closeIdle(id))
      }
    }
    if connections.values.contains(where: \.isMultiplexed) { choices.append(.requireHTTP1) }
    return choices
  }

  mutating func apply(_ choice: Choice) {
    now += 1
    defer { for index in faults.indices where !faults[index].contains("after") { faults[index] += " after \(choice)" } }
    switch choice {
    case .request:
      let id = nextID()
      requests[id] = .waiting
      tell(.arrived(entry(id)))
    case .cancel(let request):
      leave(request, as: .failed) { $0.tell(.left(request)) }
    case .dialOpens(let dial): open(dial, isFit: true)
    case .dialOpensUnfit(let dial): open(dial, isFit: false)
    case .dialOpensMultiplexed(let dial, let allowed):
      dials.remove(dial)
      let id = nextID()
      connections[id] = Connection(isMultiplexed: true, allowed: allowed)
      _ = machine.learn("h2")
      maySpeakHTTP2 = !requiresHTTP1
      tell(.openedMultiplexed(dial: dial, connection: id, room: room(id)))
    case .dialFails(let dial, let isLate):
      dials.remove(dial)
      tell(.failed(dial: dial, isLate: isLate))
    case .dialIsWasted(let dial):
      dials.remove(dial)
      tell(.wasted(dial: dial))
    case .finish(let request): leave(request, as: .done) { _ in }
    case .lose(let request):
      let connection = self.connection(of: request)
      endDrain(request)
      requests[request] = .done
      close(connection)
      tell(.lost(connection))
    case .resend(let request):
      let connection = self.connection(of: request)
      requests[request] = .waiting
      wantsFresh.insert(request)
      close(connection)
      tell(.lost(connection))
      tell(.arrived(entry(request), isFront: true))
    case .drain(let request):
      requests[request] = .draining(connection(of: request))
      tell(.drains(request))
    case .die(let connection): connections[connection]?.isDead = true
    case .closeIdle(let connection): tell(.idleClosed(connection))
    case .allow(let connection, let count):
      connections[connection]?.allowed = count
      tell(.room(connection, room(connection)))
    case .goAway(let connection):
      connections[connection]?.isRetired = true
      tell(.retired(connection))
    case .end(let connection, let sendsAgain): end(connection, sendsAgain: sendsAgain)
    case .requireHTTP1:
      for id in connections.keys where connections[id]?.isMultiplexed == true { connections[id]?.isRetired = true }
      (requiresHTTP1, maySpeakHTTP2) = (true, false)
      tell(.requiresHTTP1)
    case .service:
      wantsService = false
      tell(.serviceDue)
    }
    check()
  }

  private mutating func open(_ dial: UInt64, isFit: Bool) {
    dials.remove(dial)
    let id = nextID()
    connections[id] = Connection()
    _ = machine.learn("http/1.1")
    maySpeakHTTP2 = false
    let waiting = requests.count { $0.value == .waiting }
    tell(.opened(dial: dial))
    tell(.free(id, isFit ? fitness(id) : .init(isFresh: true, mayServe: false, mayIdle: false)))
    if !isFit, waiting > 0, requests.count(where: { $0.value == .waiting }) != waiting - 1 {
      faults.append("an unusable connection costs other than one request")
    }
  }

  private mutating func end(_ connection: UInt64, sendsAgain: Bool) {
    for request in running(on: connection) {
      requests[request] = sendsAgain ? .waiting : .failed
      connections[connection]?.isRetired = true
      tell(.streamClosed(connection, HostMachine.Room(free: 0, allowed: 0)))
      if sendsAgain { tell(.returned(entry(request))) }
    }
    close(connection)
    tell(.ended(connection))
  }

  /// Removes a request from its connection, which becomes free.
  private mutating func leave(_ request: UInt64, as state: RequestState, _ waiting: (inout HostWorld) -> Void) {
    switch requests[request] {
    case .waiting:
      requests[request] = state
      waiting(&self)
    case .running(let connection), .draining(let connection):
      endDrain(request)
      requests[request] = state
      if connections[connection]?.isMultiplexed == true {
        tell(.streamClosed(connection, room(connection)))
      } else if state == .done {
        tell(.free(connection, fitness(connection)))
      } else {
        close(connection)
        tell(.lost(connection))
      }
    case .done, .failed, nil: faults.append("\(request) left twice")
    }
  }

  private mutating func endDrain(_ request: UInt64) {
    if case .draining = requests[request] { tell(.drainEnded(request)) }
  }

  // MARK: Steps

  private mutating func tell(_ event: HostMachine.Event) {
    var steps: [HostMachine.Step] = []
    machine.handle(event, now: now, &steps)
    for step in steps {
      stepCount += 1
      perform(step)
    }
  }

  private mutating func perform(_ step: HostMachine.Step) {
    switch step {
    case .start(let request, let connection, let wasIdle): start(request, connection, wasIdle)
    case .open(let request, let connection):
      guard requests[request] == .waiting, connections[connection]?.isMultiplexed == true else {
        return faults.append("\(request) is opened on \(connection)")
      }
      requests[request] = .running(connection)
    case .dial(let dial, let request):
      if requests[request] != .waiting { faults.append("a dial for \(request), which does not wait") }
      if !dials.insert(dial).inserted { faults.append("\(dial) is dialed twice") }
    case .cancelDial(let dial): if dials.remove(dial) == nil { faults.append("\(dial) is not under way") }
    case .limitWait(let request):
      if requests[request] != .waiting { faults.append("a limit for \(request), which does not wait") }
    case .fail(let request):
      if requests[request] != .waiting { faults.append("\(request) fails, and does not wait") }
      requests[request] = .failed
    case .endDrain(let request):
      guard case .draining(let connection) = requests[request] else {
        return faults.append("\(request) does not drain")
      }
      requests[request] = .done
      close(connection)
      tell(.lost(connection))
    case .becameIdle(let connection):
      if !idle.insert(connection).inserted { faults.append("\(connection) falls idle twice") }
    case .becameBusy(let connection): idle.remove(connection)
    case .close(let connection): close(connection)
    case .wantService: wantsService = true
    }
  }

  private mutating func start(_ request: UInt64, _ connection: UInt64, _ wasIdle: Bool) {
    guard requests[request] == .waiting, let state = connections[connection], !state.isMultiplexed,
      running(on: connection).isEmpty
    else { return faults.append("\(request) is started on \(connection)") }
    if wantsFresh.contains(request), state.served > 0 { faults.append("\(request) wants a fresh connection") }
    if wasIdle, state.isDead {
      close(connection)
      tell(.lost(connection))
      return tell(.arrived(entry(request), isFront: true))
    }
    connections[connection]?.served += 1
    requests[request] = .running(connection)
  }

  private mutating func close(_ connection: UInt64) {
    if !running(on: connection).isEmpty { faults.append("\(connection) closes under a request") }
    connections[connection] = nil
    idle.remove(connection)
  }

  // MARK: What is so

  private mutating func nextID() -> UInt64 {
    latest += 1
    return latest
  }

  private func entry(_ request: UInt64) -> WaitingQueue.Entry {
    WaitingQueue.Entry(
      request, wantsFresh: wantsFresh.contains(request), enteredAt: now, dialLimit: .nanoseconds(2))
  }

  private func connection(of request: UInt64) -> UInt64 {
    switch requests[request] {
    case .running(let connection), .draining(let connection): connection
    default: 0
    }
  }

  func running(on connection: UInt64) -> [UInt64] {
    requests.filter { $0.value == .running(connection) || $0.value == .draining(connection) }.map(\.key).sorted()
  }

  private func room(_ connection: UInt64) -> HostMachine.Room {
    let state = connections[connection] ?? Connection()
    let free = state.isRetired ? 0 : max(0, state.allowed - running(on: connection).count)
    return HostMachine.Room(free: free, allowed: state.allowed)
  }

  private func fitness(_ connection: UInt64) -> HostMachine.Fitness {
    let isFresh = connections[connection]?.served == 0
    return .init(isFresh: isFresh, mayServe: limits.keepsIdle || isFresh, mayIdle: limits.keepsIdle)
  }

  /// Checks the invariants that hold after every event.
  private mutating func check() {
    let waiting = requests.filter { $0.value == .waiting }.keys
    for request in requests.keys where machine.isWaiting(request) != waiting.contains(request) {
      faults.append("the machine and the model differ in whether \(request) waits")
    }
    let open = connections.values.filter { !$0.isRetired }.count + dials.count
    if open > limits.connections { faults.append("\(open) connections and dials") }
    if dials.count > limits.dials { faults.append("\(dials.count) dials") }
    let multiplexed = connections.filter(\.value.isMultiplexed)
    let streams = multiplexed.keys.reduce(0) { $0 + running(on: $1).count }
    if streams > limits.streams { faults.append("\(streams) streams") }
    guard !wantsService, !waiting.isEmpty else { return }
    if waiting.contains(where: { !wantsFresh.contains($0) }), idle.contains(where: { multiplexed[$0] == nil }) {
      faults.append("a request waits beside an idle connection")
    }
    if streams < limits.streams, multiplexed.keys.contains(where: { room($0).free > 0 && !isRetired($0) }) {
      faults.append("a request waits beside a connection with room")
    }
    // A server that allows no request may allow one later.
    let mutes = multiplexed.contains { $0.value.allowed == 0 && !$0.value.isRetired }
    let isDraining = requests.values.contains { if case .draining = $0 { true } else { false } }
    let wantsDial =
      maySpeakHTTP2
      ? dials.isEmpty && streams < limits.streams && !mutes : dials.count < min(waiting.count, limits.dials)
    if isDraining, wantsDial {
      faults.append("a request waits beside a connection that only discards the rest of a response")
    }
    let isBusy = connections.keys.contains { !running(on: $0).isEmpty }
    if dials.isEmpty, !isBusy, !mutes { faults.append("requests wait, and nothing is under way") }
    guard open < limits.connections else { return }
    if !maySpeakHTTP2 {
      if dials.count < min(waiting.count, limits.dials) { faults.append("requests wait for no dial") }
    } else if dials.isEmpty, streams < limits.streams, !mutes {
      faults.append("requests wait for no dial that they would share")
    }
  }

  /// Returns whether an HTTP/2 connection ends with its last stream.
  private func isRetired(_ connection: UInt64) -> Bool { connections[connection]?.isRetired == true }
}
