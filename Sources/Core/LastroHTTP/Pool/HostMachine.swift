// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Decides which connection of a host serves which request, and which connections are dialed, kept and closed.
///
/// A request is not bound to a dial: the first connection that becomes free serves the first request in the queue.
/// While HTTP/2 is possible, all queued requests share one dial until the protocol of the new connection is known.
///
/// The machine is a pure value: requests, dials and connections are numbers, and time is a parameter. Its owner reports
/// events (``Event``) and performs the steps that the machine appends (``Step``), in order. A step that fails is
/// reported as an event like any other. Each decision can therefore be tested without a socket.
struct HostMachine: Hashable {
  struct Limits: Hashable {
    /// The maximum number of connections, dials included.
    var connections: Int
    /// The maximum number of concurrent dials.
    var dials: Int
    /// The maximum number of concurrent HTTP/2 streams on all connections together.
    var streams: Int
    var streamsPerConnection: Int
    /// Whether idle connections are kept.
    var keepsIdle: Bool
  }

  enum Event {
    // Requests.
    /// A request arrived, or returned because its connection turned out to be unfit. It is served at once if possible.
    case arrived(WaitingQueue.Entry, isFront: Bool = false)
    /// A request came back and may be sent again. It is queued in front, and served at the next ``serviceDue``.
    case returned(WaitingQueue.Entry)
    /// A request ended while it may still have been in the queue.
    case left(UInt64)
    /// A request is answered, and only the rest of its response is still being read. Its connection is closed if
    /// another request needs one, whether that request is already waiting or arrives later.
    case drains(UInt64)
    case drainEnded(UInt64)

    // Dials.
    /// An HTTP/1.1 link has opened. The owner reports its connection as free next.
    case opened(dial: UInt64)
    /// An HTTP/2 link has opened, with the given capacity.
    case openedMultiplexed(dial: UInt64, connection: UInt64, room: Room)
    /// A link has opened, but its server violates the protocol or has already closed it. The first queued request fails
    /// with the error.
    case wasted(dial: UInt64)
    case failed(dial: UInt64, isLate: Bool)
    /// The dial was not started, because its request was refused or had ended.
    case dropped(dial: UInt64)

    // HTTP/1.1 connections.
    /// The connection is new, or its last request has ended.
    case free(UInt64, Fitness)
    /// The connection was closed while a request was using it.
    case lost(UInt64)
    /// An idle connection was closed by its server, or must be closed now.
    case idleClosed(UInt64)

    // HTTP/2 connections.
    /// The number of requests that the connection accepts has changed.
    case room(UInt64, Room)
    /// A stream was closed, or could not be opened because the connection cannot accept the request.
    case streamClosed(UInt64, Room)
    /// The connection accepts no more requests, and closes with its last stream.
    case retired(UInt64)
    case ended(UInt64)
    /// The server requires HTTP/1.1.
    case requiresHTTP1

    /// Capacity may have become free in this turn of the loop.
    case serviceDue
  }

  /// The capacity of an HTTP/2 connection.
  struct Room: Hashable {
    /// The number of further requests that the connection accepts now.
    var free: Int
    /// The number of concurrent requests that its server allows.
    var allowed: Int
    /// Whether the server may be unreachable.
    var isSuspect = false
  }

  /// The uses that a free HTTP/1.1 connection is fit for.
  struct Fitness: Hashable {
    /// Whether the connection has served no request yet.
    var isFresh: Bool
    /// Whether the connection may serve another request.
    var mayServe: Bool
    /// Whether the connection may be kept while it is idle.
    var mayIdle: Bool
  }

  enum Step: Equatable {
    /// Run a request on an HTTP/1.1 connection. On failure, the owner reports the connection with ``Event/lost(_:)`` or
    /// ``Event/free(_:_:)``, and the request with another event.
    ///
    /// `wasIdle`: whether the connection was idle until now, so that its server may have closed it.
    case start(request: UInt64, connection: UInt64, wasIdle: Bool)
    /// Run a request on a new stream of a connection. On failure, the owner reports the connection with
    /// ``Event/streamClosed(_:_:)``, and the request with another event.
    case open(request: UInt64, connection: UInt64)
    case dial(UInt64, request: UInt64)
    case cancelDial(UInt64)
    /// Start the connect timeout of a request that waits for a dial.
    case limitWait(request: UInt64)
    /// Fail a request with the error of the dial.
    case fail(request: UInt64)
    /// End an answered request that is still reading its response, because another request needs its connection.
    case endDrain(request: UInt64)
    /// Record that the connection is idle from here on.
    case becameIdle(UInt64)
    /// Record that the connection is no longer idle: a request uses it, it accepts no more requests, or it is closing.
    case becameBusy(UInt64)
    case close(UInt64)
    /// Report ``Event/serviceDue`` before the turn ends.
    case wantService
  }

  /// An HTTP/2 connection.
  private struct Session: Hashable {
    let id: UInt64
    /// The number of open streams.
    var open = 0
    var room: Room
    /// Whether a request was started on the connection.
    var isUsed = false
  }

  private var limits: Limits
  private var versions: HostVersions
  private var waiting = WaitingQueue()
  /// The idle HTTP/1.1 connections, the most recently used last. Requests reuse from the end; the oldest are closed
  /// first.
  private var idle: [UInt64] = []
  /// The number of HTTP/1.1 connections that are in use, or new and not yet reported as free.
  private var running = 0
  private var draining: [UInt64] = []
  /// The current dials, the oldest first.
  private var dials: [UInt64] = []
  private var latestDial: UInt64 = 0
  private var dialBeganAt: Int64 = 0
  /// The HTTP/2 connections that accept requests, the oldest first.
  private var sessions: [Session] = []
  /// The HTTP/2 connections that accept no more requests, and close with their last stream.
  private var retired: [Session] = []
  /// The number of open HTTP/2 streams on all connections.
  private var streams = 0
  /// The number of concurrent streams that the server allows, from the latest change that a connection reported.
  private(set) var allowedStreams: Int?
  /// The number of queued requests that no current dial will serve. It is stored because counting would copy the
  /// machine.
  private(set) var queuedCount = 0

  init(_ limits: Limits, _ versions: HostVersions) {
    self.limits = limits
    self.versions = versions
  }

  // MARK: Queries

  var isUnused: Bool {
    waiting.isEmpty && idle.isEmpty && running == 0 && dials.isEmpty && sessions.isEmpty && retired.isEmpty
  }

  var hasWaiting: Bool { !waiting.isEmpty }

  /// Returns whether at least so many HTTP/1.1 connections are open, or an HTTP/2 connection, which carries many
  /// requests.
  func hasOpen(_ count: Int) -> Bool { !sessions.isEmpty || running + idle.count >= count }

  /// The connections and requests at this moment.
  var counts: PoolCounts {
    let busy = sessions.count { $0.open > 0 }
    return PoolCounts(
      active: running + busy + retired.count, idle: idle.count + sessions.count - busy, dialing: dials.count,
      requests: running + streams, waiting: waiting.count)
  }

  /// Returns whether a request is in the queue.
  func isWaiting(_ request: UInt64) -> Bool { waiting.contains(request) }

  /// Returns whether new requests will most likely use HTTP/2.
  func expectsHTTP2(now: Int64) -> Bool { versions.sharesDials(now: now) }

  /// Returns the protocols to offer in the TLS handshake of a dial.
  func offer(now: Int64) -> [String] { versions.offer(now: now) }

  /// Records the protocol of a new link, and returns whether it is HTTP/2.
  mutating func learn(_ choice: String?) -> Bool { versions.learn(choice) }

  /// Whether a new request will most likely be sent at once and alone. Over HTTP/2, one write sends all requests of a
  /// turn.
  var mayServeAlone: Bool { waiting.isEmpty && (!idle.isEmpty || streams == 0 && hasRoom) }

  /// Whether an open connection can serve a new request at once.
  var mayServeAtOnce: Bool { waiting.isEmpty && (!idle.isEmpty || hasRoom) }

  /// Returns whether a new request would have to wait until another one ends.
  func isFull(now: Int64) -> Bool { idle.isEmpty && !hasRoom && (waiting.count > served(now: now) || !mayDial) }

  /// Returns the number of requests that the current dials will serve.
  private func served(now: Int64) -> Int {
    guard !dials.isEmpty, expectsHTTP2(now: now) else { return dials.count }
    return max(1, min(limits.streams - streams, limits.streamsPerConnection, allowedStreams ?? .max))
  }

  private var mayDial: Bool { running + idle.count + dials.count + sessions.count < limits.connections }

  private var hasRoom: Bool { streams < limits.streams && sessions.contains { $0.room.free > 0 } }

  /// Whether another HTTP/2 connection would help the queued requests. A server that allows no request on one
  /// connection would allow none on another either.
  private var mayGrow: Bool {
    streams < limits.streams && !sessions.contains { $0.room.free > 0 || $0.open == 0 && !$0.room.isSuspect }
  }

  /// Stops keeping idle connections.
  mutating func stopKeeping() { limits.keepsIdle = false }

  // MARK: Events

  /// Handles an event.
  ///
  /// - Parameter steps: receives the steps to perform, appended in order.
  mutating func handle(_ event: Event, now: Int64, _ steps: inout [Step]) {
    decide(event, now: now, &steps)
    if !limits.keepsIdle { closeUnwanted(&steps) }
    queuedCount = waiting.isEmpty ? 0 : max(0, waiting.count - served(now: now))
  }

  private mutating func decide(_ event: Event, now: Int64, _ steps: inout [Step]) {
    switch event {
    case .arrived(let entry, let isFront): arrived(entry, isFront: isFront, now: now, &steps)
    case .returned(let entry):
      wait(entry, isFront: true, now: now, &steps)
      steps.append(.wantService)
    case .left(let request): left(request, &steps)
    case .drains(let request):
      draining.append(request)
      dialForWaiting(now: now, &steps)
    case .drainEnded(let request): draining.removeAll { $0 == request }
    case .opened(let dial): if removeDial(dial) { running += 1 }
    case .openedMultiplexed(let dial, let connection, let room):
      guard removeDial(dial) else { break }
      sessions.append(Session(id: connection, room: room))
      steps.append(.becameIdle(connection))
      serve(now: now, &steps)
    case .wasted(let dial):
      guard removeDial(dial) else { break }
      if let first = waiting.popFirst() { steps.append(.fail(request: first)) }
      dialForWaiting(now: now, &steps)
    case .failed(let dial, let isLate): if removeDial(dial) { dialFailed(isLate: isLate, now: now, &steps) }
    case .dropped(let dial): if removeDial(dial) { dialForWaiting(now: now, &steps) }
    case .free(let connection, let fitness): free(connection, fitness, now: now, &steps)
    case .lost:
      running -= 1
      dialForWaiting(now: now, &steps)
    case .idleClosed(let connection): idleClosed(connection, now: now, &steps)
    case .room(let connection, let room): changed(connection, room, &steps)
    case .streamClosed(let connection, let room): streamClosed(connection, room, &steps)
    case .retired(let connection):
      failOne(ifUseless: connection, &steps)
      retire(connection, &steps)
    case .ended(let connection): ended(connection, &steps)
    case .requiresHTTP1:
      versions.requireHTTP1(now: now)
      if !expectsHTTP2(now: now) { for session in sessions { retire(session.id, &steps) } }
      steps.append(.wantService)
    case .serviceDue: serve(now: now, &steps)
    }
  }
}

// MARK: - Requests

extension HostMachine {
  private mutating func arrived(_ entry: WaitingQueue.Entry, isFront: Bool, now: Int64, _ steps: inout [Step]) {
    if waiting.isEmpty, startMultiplexed(entry.request, &steps) { return }
    // While a connection is idle, only requests that need a fresh one wait.
    if !entry.wantsFresh, let connection = idle.popLast() {
      return start(entry.request, onIdle: connection, &steps)
    }
    wait(entry, isFront: isFront, now: now, &steps)
    dialForWaiting(now: now, &steps)
  }

  private mutating func wait(_ entry: WaitingQueue.Entry, isFront: Bool, now: Int64, _ steps: inout [Step]) {
    var entry = entry
    let shares = expectsHTTP2(now: now)
    if shares, !dials.isEmpty {
      entry.dialBeganAt = now
      steps.append(.limitWait(request: entry.request))
    }
    if isFront { waiting.prepend(entry) } else { waiting.append(entry) }
    if !shares { limitWaits(now: now, &steps) }
  }

  /// Removes a request from the queue, and cancels dials that no request needs any more, the latest first, because it
  /// has made the least progress.
  private mutating func left(_ request: UInt64, _ steps: inout [Step]) {
    guard waiting.remove(request) else { return }
    while dials.count > waiting.count, let latest = dials.popLast() { steps.append(.cancelDial(latest)) }
  }

  private mutating func start(_ request: UInt64, onIdle connection: UInt64, _ steps: inout [Step]) {
    running += 1
    steps.append(.becameBusy(connection))
    steps.append(.start(request: request, connection: connection, wasIdle: true))
  }

  /// Starts a request on the first HTTP/2 connection that accepts it; returns false if none does.
  private mutating func startMultiplexed(_ request: UInt64, _ steps: inout [Step]) -> Bool {
    guard streams < limits.streams, let index = sessions.firstIndex(where: { $0.room.free > 0 }) else { return false }
    streams += 1
    sessions[index].open += 1
    sessions[index].isUsed = true
    sessions[index].room.free -= 1
    if sessions[index].open == 1 { steps.append(.becameBusy(sessions[index].id)) }
    steps.append(.open(request: request, connection: sessions[index].id))
    return true
  }

  /// Serves queued requests with free connections, and dials for the rest.
  private mutating func serve(now: Int64, _ steps: inout [Step]) {
    while hasRoom, let request = waiting.popFirst() { _ = startMultiplexed(request, &steps) }
    while !idle.isEmpty, let request = waiting.popFirst(isFresh: false) {
      start(request, onIdle: idle.removeLast(), &steps)
    }
    dialForWaiting(now: now, &steps)
  }
}

// MARK: - Dials

extension HostMachine {
  /// Starts dials for the queued requests that no dial will serve yet, within the limits.
  private mutating func dialForWaiting(now: Int64, _ steps: inout [Step]) {
    guard !waiting.isEmpty else { return }
    let isShared = expectsHTTP2(now: now)
    if isShared, !mayGrow { return }
    while dials.count < (isShared ? 1 : waiting.count), dials.count < limits.dials {
      if !mayDial, waiting.entry(behind: dials.count)?.wantsFresh == true, !idle.isEmpty {
        let oldest = idle.removeFirst()
        steps.append(.becameBusy(oldest))
        steps.append(.close(oldest))
      }
      if !mayDial {
        // This closes the connection of the request, which is reported as an event.
        if !draining.isEmpty { steps.append(.endDrain(request: draining.removeFirst())) }
        return
      }
      dial(now: now, &steps)
    }
  }

  /// Starts a dial for the first queued request that no dial will serve yet.
  private mutating func dial(now: Int64, _ steps: inout [Step]) {
    guard let entry = waiting.entry(behind: dials.count) else { return }
    latestDial += 1
    dials.append(latestDial)
    dialBeganAt = now
    steps.append(.dial(latestDial, request: entry.request))
    limitWaits(now: now, &steps)
  }

  /// Starts the connect timeouts of the requests that the current dials will serve, whichever request each dial was
  /// started for.
  private mutating func limitWaits(now: Int64, _ steps: inout [Step]) {
    guard !dials.isEmpty else { return }
    let count = expectsHTTP2(now: now) ? Int.max : dials.count
    for request in waiting.beginWaits(ofFirst: count, now: now) { steps.append(.limitWait(request: request)) }
  }

  /// Removes a dial; returns false if it was cancelled in the meantime.
  private mutating func removeDial(_ dial: UInt64) -> Bool {
    guard let index = dials.firstIndex(of: dial) else { return false }
    dials.remove(at: index)
    return true
  }

  private mutating func dialFailed(isLate: Bool, now: Int64, _ steps: inout [Step]) {
    let isShared = expectsHTTP2(now: now)
    var failed: [UInt64] = []
    if isLate {
      // Each queued request has a timeout of its own, and the dial may have been started for another request.
      let late = waiting.waiting.filter { $0.isLate(now: now) }.map(\.request)
      failed = isShared ? late : Array(late.prefix(1))
    } else if isShared {
      failed = waiting.waiting.filter { $0.enteredAt <= dialBeganAt }.map(\.request)
    } else if let first = waiting.entry(behind: 0) {
      failed = [first.request]
    }
    for request in failed where waiting.remove(request) { steps.append(.fail(request: request)) }
    dialForWaiting(now: now, &steps)
  }
}

// MARK: - Connections of HTTP/1.1

extension HostMachine {
  private mutating func free(
    _ connection: UInt64, _ fitness: Fitness, now: Int64, _ steps: inout [Step]
  ) {
    if fitness.mayServe, let request = waiting.popFirst(isFresh: fitness.isFresh) {
      steps.append(.start(request: request, connection: connection, wasIdle: false))
      limitWaits(now: now, &steps)
      // The new connection may have shown that requests cannot share one.
      return dialForWaiting(now: now, &steps)
    }
    running -= 1
    // A server that ends each connection as soon as it is open costs a request, and is not dialed forever.
    if fitness.isFresh, !fitness.mayServe, let first = waiting.popFirst() { steps.append(.fail(request: first)) }
    if fitness.mayIdle, limits.keepsIdle {
      idle.append(connection)
      steps.append(.becameIdle(connection))
    } else {
      steps.append(.close(connection))
    }
    // The remaining queued requests need a fresh connection.
    dialForWaiting(now: now, &steps)
  }

  private mutating func idleClosed(_ connection: UInt64, now: Int64, _ steps: inout [Step]) {
    guard let index = idle.lastIndex(of: connection) else { return }
    idle.remove(at: index)
    steps.append(.becameBusy(connection))
    steps.append(.close(connection))
    dialForWaiting(now: now, &steps)
  }
}

// MARK: - Connections of HTTP/2

extension HostMachine {
  private func index(of connection: UInt64) -> Int? { sessions.firstIndex { $0.id == connection } }

  private mutating func changed(_ connection: UInt64, _ room: Room, _ steps: inout [Step]) {
    guard let index = index(of: connection), sessions[index].room != room else { return }
    if sessions[index].room.allowed != room.allowed { allowedStreams = room.allowed }
    sessions[index].room = room
    steps.append(.wantService)
  }

  private mutating func streamClosed(_ connection: UInt64, _ room: Room, _ steps: inout [Step]) {
    steps.append(.wantService)
    if let index = index(of: connection) {
      streams -= 1
      sessions[index].open -= 1
      sessions[index].room = room
      guard sessions[index].open == 0 else { return }
      if limits.keepsIdle { steps.append(.becameIdle(connection)) } else { retire(connection, &steps) }
    } else if let index = retired.firstIndex(where: { $0.id == connection }) {
      streams -= 1
      retired[index].open -= 1
      if retired[index].open == 0 {
        retired.remove(at: index)
        steps.append(.close(connection))
      }
    }
  }

  /// Fails the first queued request if the server never allowed a request on a connection that closes. Such a server
  /// costs a request, and is not dialed forever.
  private mutating func failOne(ifUseless connection: UInt64, _ steps: inout [Step]) {
    guard let index = index(of: connection), !sessions[index].isUsed, sessions[index].room.allowed == 0,
      let first = waiting.popFirst()
    else { return }
    steps.append(.fail(request: first))
  }

  private mutating func retire(_ connection: UInt64, _ steps: inout [Step]) {
    guard let index = index(of: connection) else { return }
    let session = sessions.remove(at: index)
    steps.append(.wantService)
    steps.append(.becameBusy(connection))
    if session.open == 0 { steps.append(.close(connection)) } else { retired.append(session) }
  }

  /// Retires HTTP/2 connections without streams if no request waits, such as one that opens after its request was
  /// served on another connection.
  private mutating func closeUnwanted(_ steps: inout [Step]) {
    guard waiting.isEmpty else { return }
    for session in sessions where session.open == 0 { retire(session.id, &steps) }
  }

  private mutating func ended(_ connection: UInt64, _ steps: inout [Step]) {
    failOne(ifUseless: connection, &steps)
    if let index = index(of: connection) {
      streams -= sessions.remove(at: index).open
      steps.append(.becameBusy(connection))
    } else if let index = retired.firstIndex(where: { $0.id == connection }) {
      streams -= retired.remove(at: index).open
    }
    steps.append(.wantService)
  }
}
