// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// An HTTP client on an event loop. It manages jobs, hosts, connections, and their limits.
///
/// It speaks HTTP over links, which its ``Connector`` opens, and does not depend on their implementation.
///
/// Owner: ``LoopCore``. Thread: the loop's.
final class HTTPEngine {
  /// The number of deadlines, in addition to two for each exchange, beyond which outdated ones are dropped.
  private static let spareLooks = 64

  let settings: EngineSettings
  let connector: any Connector
  let context: LoopContext
  let reference: EngineReference
  private let clock: LoopClock
  private var load: LoadCounter { reference.load }

  // Unchecked, like others below, because only the loop accesses this engine, and a lookup does not reenter it.
  @exclusivity(unchecked) private var defaultPartition: HostPartition?
  private(set) var partitions: [ConnectionOptions: HostPartition] = [:]
  private var partitionCleanup = CleanupRule(spare: 64)
  /// The hosts of all partitions. An action on all hosts is performed in this order.
  private var hosts = NumberedTable<HostPool>()
  @exclusivity(unchecked) private(set) var exchanges = NumberedTable<Exchange>()
  /// Jobs that wait for the check whether connections are still current, with the order of their arrival.
  private var held: [ObjectIdentifier: (turn: UInt64, job: EngineJob)] = [:]
  private var latestHeldTurn: UInt64 = 0
  @exclusivity(unchecked) private(set) var connections = NumberedTable<HTTPConnection>()
  /// The memory in which the heads of requests are written.
  // Unchecked because only the loop's thread accesses it, and writing a head does not reenter the engine.
  @exclusivity(unchecked) var writer = RequestWriter()
  /// The number of jobs that wait for another job to end.
  private var queuedCount = 0
  @exclusivity(unchecked) private(set) var idle = IdleQueue()
  /// The times at which exchanges are checked.
  // Unchecked for the same reason.
  @exclusivity(unchecked) private var looks = DeadlineHeap()
  private var nextIdleEnd = Int64.max { didSet { context.noteDue(nextIdleEnd) } }
  /// The time at which an HTTP/2 connection has work to do.
  private var nextTick = Int64.max { didSet { context.noteDue(nextTick) } }
  /// Hosts with free capacity, and HTTP/2 connections with bytes to send. Both are processed at the end of the turn.
  private var served: [HostPool] = []
  private var sending: [HTTP2Multiplexer] = []
  private var isSettling = false
  /// Events for the next turn: results of dials, and reads to continue.
  private var events: [() -> Void] = []
  private var isShutDown = false

  init(_ settings: EngineSettings, _ connector: any Connector, _ reference: EngineReference, _ context: LoopContext) {
    self.settings = settings
    self.connector = connector
    self.reference = reference
    self.context = context
    clock = context.clock
    reference.core = self
    reference.group?.join(reference, context.inbox)
  }

  var now: Int64 { clock.now }
  /// Whether connections without a request are kept.
  var keepsIdle: Bool { settings.keepsIdle && !isShutDown }
  var isEmpty: Bool { exchanges.isEmpty && held.isEmpty }

  // MARK: Jobs

  /// Begins a job.
  func begin(_ job: EngineJob) {
    if isShutDown { return refuse(job, .shutDown) }
    let key = HostKey(job.request.head)
    let partition = partition(for: job)
    do throws(TransportError) {
      let host = try host(key, in: partition)
      if !holds(job, for: host) { enter(job, host) }
    } catch {
      refuse(job, error)
    }
  }

  /// Begins a job with the engine's own options if a connection is free for it, so that it neither dials nor waits.
  /// Returns false if the job was not begun.
  func beginAtOnce(_ job: EngineJob) -> Bool {
    guard !isShutDown, job.upload == nil, job.usesDefaultOptions,
      let host = defaultPartition?.hosts[HostKey(job.request.head)], host.machine.mayServeAlone
    else { return false }
    clock.update()
    if let state = host.route.state, state.mustCheck(now: clock.now) { return false }
    enter(job, host)
    return true
  }

  /// Returns whether an open connection can serve a request at once.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  func mayServeAtOnce(_ head: HTTPRequest, _ own: SharedOptions?) -> Bool {
    let partition = own.map { partitions[$0.options] } ?? defaultPartition
    guard let host = partition?.hosts[HostKey(head)] else { return false }
    return host.machine.mayServeAtOnce
  }

  /// Holds a job until it has been checked whether connections are current. Returns false if no check is needed, or the
  /// job's time has passed.
  private func holds(_ job: EngineJob, for host: HostPool) -> Bool {
    // A check whose time has passed already would end in this turn, and begin again.
    guard clock.now < job.expiresAt, let state = host.route.state, state.mustCheck(now: clock.now) else { return false }
    latestHeldTurn += 1
    held[ObjectIdentifier(job)] = (latestHeldTurn, job)
    // The check may outlive the engine, whose jobs are cancelled then. A weak reference would make reference counting
    // of the engine slower.
    state.check(until: job.expiresAt) { [reference] in
      guard let engine = reference.core, engine.held.removeValue(forKey: ObjectIdentifier(job)) != nil else { return }
      engine.begin(job)
    }
    return true
  }

  private func enter(_ job: EngineJob, _ host: HostPool) {
    if job.isCancelled { return refuse(job, .cancelled()) }
    if clock.now >= job.expiresAt { return refuse(job, .expiredInQueue(job.request)) }
    guard reference.group?.queued ?? queuedCount < settings.queuedRequests || !host.isFull else {
      return refuse(job, .queueFull(settings.queuedRequests))
    }
    let exchange = Exchange(job, host: host)
    exchange.register(as: exchanges.add(exchange))
    context.exchanges += 1
    host.enter(exchange)
  }

  private func refuse(_ job: EngineJob, _ error: TransportError) {
    load.end()
    job.finish(error, facts: nil)
  }

  private func partition(for job: EngineJob) -> HostPartition {
    if job.usesDefaultOptions, let defaultPartition { return defaultPartition }
    if job.sharedOptions.areGiven, let known = partitions[job.options] { return known }
    if partitionCleanup.isDue(count: partitions.count) { forgetUnusedPartitions() }
    let partition = HostPartition(job.sharedOptions, isDefault: job.usesDefaultOptions)
    if job.sharedOptions.areGiven { partitions[job.options] = partition }
    if job.usesDefaultOptions { defaultPartition = partition }
    return partition
  }

  private func forgetUnusedPartitions() {
    partitions = partitions.filter { $0.value.isDefault || !$0.value.isUnused }
    partitionCleanup.noteKept(partitions.count)
    var kept = Set(partitions.values.map { ObjectIdentifier($0.options) })
    if let defaultPartition { kept.insert(ObjectIdentifier(defaultPartition.options)) }
    for host in hosts.all where !kept.contains(ObjectIdentifier(host.options)) { hosts.remove(host.number) }
  }

  private func host(_ key: HostKey, in partition: HostPartition) throws(TransportError) -> HostPool {
    if let host = partition.hosts[key] { return host }
    guard let target = TrustTarget(authority: key.authority, defaultPort: key.isTLS ? 443 : 80) else {
      throw .unreadableHost
    }
    if let host = partition.host(spelled: key, target) { return host }
    let route = try connector.route(for: key, with: partition.options)
    if partition.cleanup.isDue(count: partition.hosts.count) {
      for host in hosts.all where host.options === partition.options && host.isUnused { hosts.remove(host.number) }
      partition.forgetUnused()
    }
    let host = (route.proxy == nil ? nil : partition.proxies[route.key]) ?? makeHost(key, target, route, in: partition)
    partition.add(host, for: key, target)
    return host
  }

  private func makeHost(_ key: HostKey, _ target: TrustTarget, _ route: Route, in partition: HostPartition) -> HostPool
  {
    let host = HostPool(key: key, target: target, route: route, options: partition.options, engine: self)
    host.number = hosts.add(host)
    return host
  }

  func cancel(_ job: EngineJob) {
    if let (_, job) = held.removeValue(forKey: ObjectIdentifier(job)) { return refuse(job, .cancelled()) }
    guard let exchange = exchanges[job.exchange] else { return }
    exchange.host.conclude(exchange, .cancelled(requestSent: exchange.requestSent))
  }

  func resumeReceiving(_ job: EngineJob) { exchanges[job.exchange]?.resumeReceiving() }

  func resumeSending(_ job: EngineJob) { exchanges[job.exchange]?.resumeSending() }

  /// Stops accepting jobs. Idle connections are closed now, and the others when their exchanges end.
  func shutDown(cancelling: Bool) {
    isShutDown = true
    for host in hosts.all { host.stopKeeping() }
    if cancelling {
      let waiting = held.values.sorted { $0.turn < $1.turn }
      held = [:]
      for (_, job) in waiting { refuse(job, .shutDown) }
      for exchange in exchanges.all { exchange.host.conclude(exchange, .shutDown) }
    }
    while let oldest = oldestIdle() { retire(oldest) }
    finishShutdown()
  }

  private func finishShutdown() {
    guard isShutDown, isEmpty else { return }
    for host in hosts.all { host.cancelDials() }
    reference.isFinished.change { $0 = true }
  }

  /// Ends an exchange that has no connection.
  func end(_ exchange: Exchange, _ error: TransportError) {
    let facts = exchange.facts()
    exchange.noteOver()
    answer(exchange, error, facts: facts)
  }

  /// Answers the job of an exchange that has ended.
  ///
  /// - Parameter stream: the link as a stream, if the response ended HTTP on it.
  func answer(
    _ exchange: Exchange, _ failure: TransportError?, facts: TransferFacts, upgraded stream: (any ByteStream)? = nil
  ) {
    guard exchanges.remove(exchange.number) != nil else {
      stream?.close()
      return
    }
    context.exchanges -= 1
    load.end()
    exchange.report(failure, facts: facts, upgraded: stream)
    if isShutDown { finishShutdown() }
  }

  // MARK: The loop's turn

  /// Processes the events that have been recorded so far.
  func turn() {
    // Events that result are processed in the next turn, so that others are served in between.
    let current = events
    events = []
    for event in current { event() }
  }

  func expire(now: Int64) {
    look(now: now)
    if now >= nextTick {
      nextTick = .max
      for host in hosts.all where host.hasHTTP2 { host.tick(now: now) }
    }
    if now >= nextIdleEnd { retireIdle(now: now) }
    context.noteDue(min(looks.next, nextTick, nextIdleEnd))
  }

  /// Checks the exchanges whose deadlines have passed.
  private func look(now: Int64) {
    var due: [DeadlineHeap.Entry] = []
    while let entry = looks.popDue(now) { due.append(entry) }
    for entry in due {
      guard let exchange = exchanges[entry.number], exchange.lookDueAt == entry.time else { continue }
      exchange.lookDueAt = .max
      if exchange.expiresAt <= now { exchange.expire(now: now) }
      if exchange.state != .over { noteExpiry(of: exchange) }
    }
  }

  private func retireIdle(now: Int64) {
    nextIdleEnd = .max
    while let oldest = oldestIdle() {
      let end = oldest.idleSince.adding(nanoseconds: settings.idleLifetime)
      if now < end { return nextIdleEnd = end }
      retire(oldest)
    }
  }

  func retire(_ connection: HTTPConnection) {
    connection.session?.retire()
    noteBusy(connection)
  }

  func oldestIdle() -> HTTPConnection? { idle.first { connections[$0]?.idleTurn }.flatMap { connections[$0] } }

  /// Serves the hosts with free capacity, and sends the queued bytes of HTTP/2 connections, all of a turn at once.
  func settle() {
    isSettling = false
    while !(served.isEmpty && sending.isEmpty) {
      let hosts = served
      served = []
      for host in hosts { host.serve() }
      let connections = sending
      sending = []
      for connection in connections { connection.flush() }
    }
  }

  func tearDown() {
    for host in hosts.all { host.tearDown() }
    for connection in connections.all { connection.close() }
    // Hosts, connections and exchanges refer to the engine. Releasing them breaks the cycles.
    partitions = [:]
    defaultPartition = nil
    hosts = NumberedTable()
    served = []
    sending = []
    exchanges = NumberedTable()
    events = []
    reference.leaveGroup(queued: queuedCount, idle: idle.count)
    reference.core = nil
    reference.isFinished.change { $0 = true }
  }

  // MARK: Called by its hosts

  /// Records an event for the next ``turn()``.
  func noteEvent(_ event: @escaping () -> Void) {
    if events.isEmpty { context.mustTurn(self) }
    events.append(event)
  }

  /// Requests a call of `settle` before the turn ends.
  private func mustSettle() {
    if isSettling { return }
    isSettling = true
    context.mustSettle(self)
  }

  func register(_ connection: HTTPConnection) -> UInt64 {
    reference.noteOpened()
    return connections.add(connection)
  }

  func unregister(_ connection: HTTPConnection) { connections.remove(connection.number) }

  func noteQueued(_ change: Int) {
    queuedCount += change
    reference.group?.noteQueued(change)
  }

  /// Schedules a check of an exchange for the time when its next limit passes.
  func noteExpiry(of exchange: Exchange) {
    let time = exchange.expiresAt
    guard time < exchange.lookDueAt else { return }
    exchange.lookDueAt = time
    looks.add(time, exchange.number)
    if looks.next == time { context.noteDue(time) }
    guard looks.count > 2 * exchanges.count + Self.spareLooks else { return }
    looks.keep { entry in exchanges[entry.number]?.lookDueAt == entry.time }
  }

  func noteTick(_ time: Int64) { if time < nextTick { nextTick = time } }

  /// Records that a host has free capacity. A host is recorded once until it is served.
  func noteService(_ host: HostPool) {
    if host.isAwaitingService { return }
    host.isAwaitingService = true
    served.append(host)
    mustSettle()
  }

  /// Records that an HTTP/2 connection has bytes to send. The connection calls this once until it is flushed.
  func noteOutput(_ connection: HTTP2Multiplexer) {
    sending.append(connection)
    mustSettle()
  }

  /// Records that no request uses the connection any longer. If there are too many, the one that has been idle longest
  /// is closed.
  func noteIdle(_ connection: HTTPConnection) {
    connection.noteIdle(turn: idle.append(connection.number), now: clock.now)
    if idle.count == 1 { nextIdleEnd = connection.idleSince.adding(nanoseconds: settings.idleLifetime) }
    reference.noteIdle(connection, count: idle.count)
    limitIdle()
  }

  /// Records that the connection is in use, or closed. Does nothing if it was not idle.
  func noteBusy(_ connection: HTTPConnection) {
    guard connection.noteBusy() else { return }
    idle.noteGone { connections[$0]?.idleTurn }
    reference.noteBusy(idleCount: idle.count)
  }
}
