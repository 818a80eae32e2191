// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Decides which connection of a host serves which request, and what is dialed, kept and closed.
///
/// A request is not bound to a dial: the first connection that is free serves the first request that waits. Where
/// HTTP/2 may be spoken, all that wait share one dial until it is known what is.
///
/// A pure value: it knows requests, dials and connections by numbers, and time as a parameter. Its owner reports what
/// happened (``Event``) and performs the steps that are appended (``Step``), in their order. A step may fail, which is
/// an event like another. So each decision can be tested without a socket.
struct HostMachine: Hashable {
  struct Limits: Hashable {
    /// Connections, dials included.
    var connections: Int
    /// Dials at a time.
    var dials: Int
    /// Streams of HTTP/2 at a time, on all connections.
    var streams: Int
    var streamsPerConnection: Int
    /// Whether connections that no request uses are kept.
    var keepsIdle: Bool
  }

  enum Event {
    // Requests.
    /// A request came, or came back because its connection turned out to be unfit: it is served at once if that is
    /// possible.
    case arrived(WaitingQueue.Entry, isFront: Bool = false)
    /// A request came back that may be sent again. It waits in front, and is served with the next ``serviceDue``.
    case returned(WaitingQueue.Entry)
    /// A request ended that may have been waiting.
    case left(UInt64)
    /// A request is answered, and only the rest of its response is read: its connection is given up where another
    /// request wants one.
    case drains(UInt64)
    case drainEnded(UInt64)

    // Dials.
    /// A link of HTTP/1.1 is open. It is reported as free next.
    case opened(dial: UInt64)
    /// A link of HTTP/2 is open, and takes so many requests.
    case openedMultiplexed(dial: UInt64, connection: UInt64, room: Room)
    /// A link is open, and its server breaks the protocol or is gone: the first request that waits hears of it.
    case wasted(dial: UInt64)
    case failed(dial: UInt64, isLate: Bool)
    /// The dial was never begun: its request was refused.
    case dropped(dial: UInt64)

    // Connections of HTTP/1.1.
    /// Nothing uses the connection any more, or it is new.
    case free(UInt64, Fitness)
    /// The connection closed while a request had it.
    case lost(UInt64)
    /// The connection closed while no request had it, or is closed now.
    case idleClosed(UInt64)

    // Connections of HTTP/2.
    /// The number of requests that the connection takes has changed.
    case room(UInt64, Room)
    case streamClosed(UInt64, Room)
    /// A stream was not opened: the connection has no room.
    case notOpened(UInt64, Room)
    /// The connection takes no more requests, and ends with its last stream.
    case retired(UInt64)
    case ended(UInt64)
    /// The server wants HTTP/1.1.
    case requiresHTTP1

    /// Something came free in this turn.
    case serviceDue
  }

  /// The requests that a connection of HTTP/2 takes.
  struct Room: Hashable {
    /// The number of further requests.
    var free: Int
    /// The number of requests that its server allows at a time.
    var allowed: Int
    /// Whether it is doubtful that the server is there.
    var isSuspect = false
  }

  /// The uses that a free connection of HTTP/1.1 is fit for.
  struct Fitness: Hashable {
    /// Whether it has served no request.
    var isFresh: Bool
    /// Whether it may serve another request.
    var mayServe: Bool
    /// Whether it may be kept without a request.
    var mayIdle: Bool
  }

  enum Step: Equatable {
    /// Run a request on a connection of HTTP/1.1. If that fails, ``Event/lost(_:)`` or ``Event/free(_:_:)`` reports the
    /// connection, and another event the request.
    ///
    /// `wasIdle`: no request used the connection until now, and its server may have closed it.
    case start(request: UInt64, connection: UInt64, wasIdle: Bool)
    /// Run a request on a stream of a connection. If that fails, ``Event/notOpened(_:_:)`` reports the connection, and
    /// another event the request.
    case open(request: UInt64, connection: UInt64)
    case dial(UInt64, request: UInt64)
    case cancelDial(UInt64)
    /// The limit of a request's wait for a dial begins.
    case limitWait(request: UInt64)
    /// End a request with the error of the dial.
    case fail(request: UInt64)
    /// End a request that is answered, for another one needs its connection.
    case endDrain(request: UInt64)
    /// No request uses the connection from here on.
    case becameIdle(UInt64)
    /// A request uses the connection, or it ends.
    case becameBusy(UInt64)
    case close(UInt64)
    /// Report ``Event/serviceDue`` before the turn ends.
    case wantService
  }

  /// A connection of HTTP/2.
  private struct Session: Hashable {
    let id: UInt64
    /// The number of open streams.
    var open = 0
    var room: Room
  }

  private var limits: Limits
  private var versions: HostVersions
  private var waiting = WaitingQueue()
  /// The latest used last: it is taken first, and the oldest come to their end.
  private var idle: [UInt64] = []
  /// Connections of HTTP/1.1 that a request has, or a new one until it is free.
  private var running = 0
  private var draining: [UInt64] = []
  /// The oldest first.
  private var dials: [UInt64] = []
  private var latestDial: UInt64 = 0
  private var dialBeganAt: Int64 = 0
  /// The connections of HTTP/2 that take requests, the oldest first.
  private var sessions: [Session] = []
  /// The connections of HTTP/2 that take no more requests, and end with their last stream.
  private var retired: [Session] = []
  /// HTTP/2 streams that are open, on all of them.
  private var streams = 0
  /// The number of streams that its server allows at a time, by the latest connection that said so.
  private(set) var allowedStreams: Int?
  /// The number of waiting requests that no dial will serve. Stored, because the machine would be copied to count them.
  private(set) var queuedCount = 0

  init(_ limits: Limits, _ versions: HostVersions) {
    self.limits = limits
    self.versions = versions
  }

  // MARK: What its owner asks

  var isUnused: Bool {
    waiting.isEmpty && idle.isEmpty && running == 0 && dials.isEmpty && sessions.isEmpty && retired.isEmpty
  }

  var hasWaiting: Bool { !waiting.isEmpty }

  /// Whether a request waits for a connection.
  func isWaiting(_ request: UInt64) -> Bool { waiting.contains(request) }

  /// Whether requests that come now are most likely carried by HTTP/2.
  func expectsHTTP2(now: Int64) -> Bool { versions.sharesDials(now: now) }

  /// The protocols to offer with a dial.
  func offer(now: Int64) -> (names: [String], wire: [UInt8]) { versions.offer(now: now) }

  /// Learns from a new link, and returns whether it speaks HTTP/2.
  mutating func learn(_ choice: String?) -> Bool { versions.learn(choice) }

  /// Whether a request that comes now most likely goes out at once, and not with others: over HTTP/2 one call sends
  /// what is asked in a turn.
  var hasFreeConnection: Bool { waiting.isEmpty && (!idle.isEmpty || streams == 0 && hasRoom) }

  /// Whether a connection serves a request that comes now.
  var mayServeAtOnce: Bool { waiting.isEmpty && (!idle.isEmpty || hasRoom) }

  /// Whether one more would have to wait for another to end.
  func isFull(now: Int64) -> Bool { idle.isEmpty && !hasRoom && (waiting.count > served(now: now) || !mayDial) }

  /// The number of requests that the current dials will serve.
  private func served(now: Int64) -> Int {
    guard !dials.isEmpty, expectsHTTP2(now: now) else { return dials.count }
    return max(1, min(limits.streams - streams, limits.streamsPerConnection, allowedStreams ?? .max))
  }

  private var mayDial: Bool { running + idle.count + dials.count + sessions.count < limits.connections }

  private var hasRoom: Bool { streams < limits.streams && sessions.contains { $0.room.free > 0 } }

  /// Whether one more connection of HTTP/2 would help those that wait. A server that allows no request would allow none
  /// on another connection.
  private var mayGrow: Bool {
    streams < limits.streams && !sessions.contains { $0.room.free > 0 || $0.open == 0 && !$0.room.isSuspect }
  }

  /// Keeps no connection from here on that no request uses.
  mutating func stopKeeping() { limits.keepsIdle = false }

  // MARK: Events

  /// Decides.
  ///
  /// - Parameter steps: are appended to.
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
    case .left(let request): left(request, now: now, &steps)
    case .drains(let request): draining.append(request)
    case .drainEnded(let request): draining.removeAll { $0 == request }
    case .opened(let dial): if take(dial) { running += 1 }
    case .openedMultiplexed(let dial, let connection, let room):
      guard take(dial) else { break }
      sessions.append(Session(id: connection, room: room))
      steps.append(.becameIdle(connection))
      serve(now: now, &steps)
    case .wasted(let dial):
      guard take(dial) else { break }
      if let first = waiting.popFirst() { steps.append(.fail(request: first)) }
      dialForWaiting(now: now, &steps)
    case .failed(let dial, let isLate): if take(dial) { dialFailed(isLate: isLate, now: now, &steps) }
    case .dropped(let dial): if take(dial) { dialForWaiting(now: now, &steps) }
    case .free(let connection, let fitness): free(connection, fitness, now: now, &steps)
    case .lost:
      running -= 1
      dialForWaiting(now: now, &steps)
    case .idleClosed(let connection): idleClosed(connection, now: now, &steps)
    case .room(let connection, let room): changed(connection, room, &steps)
    case .streamClosed(let connection, let room): streamClosed(connection, room, &steps)
    case .notOpened(let connection, let room): streamClosed(connection, room, &steps)
    case .retired(let connection): retire(connection, &steps)
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
    // Beside idle connections wait none but those that want a fresh one.
    if !entry.wantsFresh, let connection = idle.popLast() {
      return start(entry.request, onIdle: connection, &steps)
    }
    wait(entry, isFront: isFront, now: now, &steps)
    dialForWaiting(now: now, &steps)
  }

  private mutating func wait(_ entry: WaitingQueue.Entry, isFront: Bool, now: Int64, _ steps: inout [Step]) {
    if isFront { waiting.prepend(entry) } else { waiting.append(entry) }
    if dials.isEmpty { return }
    if expectsHTTP2(now: now) {
      if waiting.beginWait(of: entry.request, now: now) { steps.append(.limitWait(request: entry.request)) }
    } else {
      limitWaits(now: now, &steps)
    }
  }

  /// Takes a request out of the queue. Dials that no request wants are given up; the latest is the least far.
  private mutating func left(_ request: UInt64, now: Int64, _ steps: inout [Step]) {
    guard waiting.remove(request) else { return }
    while dials.count > waiting.count, let latest = dials.popLast() { steps.append(.cancelDial(latest)) }
  }

  private mutating func start(_ request: UInt64, onIdle connection: UInt64, _ steps: inout [Step]) {
    running += 1
    steps.append(.becameBusy(connection))
    steps.append(.start(request: request, connection: connection, wasIdle: true))
  }

  /// Starts a request on the first connection of HTTP/2 that takes it. False: none does.
  private mutating func startMultiplexed(_ request: UInt64, _ steps: inout [Step]) -> Bool {
    guard streams < limits.streams, let index = sessions.firstIndex(where: { $0.room.free > 0 }) else { return false }
    streams += 1
    sessions[index].open += 1
    sessions[index].room.free -= 1
    if sessions[index].open == 1 { steps.append(.becameBusy(sessions[index].id)) }
    steps.append(.open(request: request, connection: sessions[index].id))
    return true
  }

  /// Serves requests that wait with what is free, and dials for the rest.
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
  /// Begins as many dials as there are requests that wait for none.
  private mutating func dialForWaiting(now: Int64, _ steps: inout [Step]) {
    guard !waiting.isEmpty else { return }
    if expectsHTTP2(now: now) {
      if dials.isEmpty, mayDial, mayGrow { dial(now: now, &steps) }
      return
    }
    while dials.count < waiting.count, dials.count < limits.dials {
      if !mayDial, waiting.entry(behind: dials.count)?.wantsFresh == true, !idle.isEmpty {
        let oldest = idle.removeFirst()
        steps.append(.becameBusy(oldest))
        steps.append(.close(oldest))
      }
      if !mayDial {
        // Its connection closes, which is reported.
        if !draining.isEmpty { steps.append(.endDrain(request: draining.removeFirst())) }
        return
      }
      dial(now: now, &steps)
    }
  }

  /// Begins a dial, for the first that waits for none.
  private mutating func dial(now: Int64, _ steps: inout [Step]) {
    guard let entry = waiting.entry(behind: dials.count) else { return }
    latestDial += 1
    dials.append(latestDial)
    dialBeganAt = now
    steps.append(.dial(latestDial, request: entry.request))
    limitWaits(now: now, &steps)
  }

  /// Limits the wait of requests that the dials under way will serve to their limit for a connection, whichever of them
  /// a dial was begun for.
  private mutating func limitWaits(now: Int64, _ steps: inout [Step]) {
    guard !dials.isEmpty else { return }
    let count = expectsHTTP2(now: now) ? Int.max : dials.count
    for request in waiting.beginWaits(ofFirst: count, now: now) { steps.append(.limitWait(request: request)) }
  }

  /// Takes a dial out. False: it was given up in the meantime.
  private mutating func take(_ dial: UInt64) -> Bool {
    guard let index = dials.firstIndex(of: dial) else { return false }
    dials.remove(at: index)
    return true
  }

  private mutating func dialFailed(isLate: Bool, now: Int64, _ steps: inout [Step]) {
    let isShared = expectsHTTP2(now: now)
    var failed: [UInt64] = []
    if isLate {
      // Each that waits has a limit of its own, and the dial may have been another's.
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
      // A new connection may have shown that requests do not share one.
      return dialForWaiting(now: now, &steps)
    }
    running -= 1
    if fitness.mayIdle, limits.keepsIdle {
      idle.append(connection)
      steps.append(.becameIdle(connection))
    } else {
      steps.append(.close(connection))
    }
    // Those that wait want a fresh one.
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

  private mutating func retire(_ connection: UInt64, _ steps: inout [Step]) {
    guard let index = index(of: connection) else { return }
    let session = sessions.remove(at: index)
    steps.append(.wantService)
    steps.append(.becameBusy(connection))
    if session.open == 0 { steps.append(.close(connection)) } else { retired.append(session) }
  }

  /// Closes connections that no request uses or waits for, such as one that opens after its request was served on
  /// another.
  private mutating func closeUnwanted(_ steps: inout [Step]) {
    guard waiting.isEmpty else { return }
    for session in sessions where session.open == 0 { retire(session.id, &steps) }
  }

  private mutating func ended(_ connection: UInt64, _ steps: inout [Step]) {
    if let index = index(of: connection) {
      streams -= sessions.remove(at: index).open
      steps.append(.becameBusy(connection))
    } else if let index = retired.firstIndex(where: { $0.id == connection }) {
      streams -= retired.remove(at: index).open
    }
    steps.append(.wantService)
  }
}
