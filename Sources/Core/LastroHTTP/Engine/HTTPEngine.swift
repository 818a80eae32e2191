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
  /// Settings in the form in which requests need them. Lifetimes are in nanoseconds, because converting a duration
  /// takes two divisions of 128 bits.
  let headLimits: ExchangeLimits
  let addedFields: AddedFields
  let connectionLifetime: Int64
  private let idleLifetime: Int64
  let connector: any Connector
  let context: LoopContext
  let reference: EngineReference

  // Unchecked, like others below, because only the loop accesses this engine, and a lookup does not reenter it.
  @exclusivity(unchecked) private var defaultPartition: HostPartition?
  private(set) var partitions: [ConnectionOptions: HostPartition] = [:]
  private var partitionCleanup = CleanupRule(spare: 64)
  /// The hosts of all partitions. An action on all hosts is performed in this order.
  private(set) var hosts: [HostPool] = []
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
  private var nextIdleEnd = Int64.max { didSet { context.scheduleEngines(at: nextIdleEnd) } }
  /// The time at which an HTTP/2 connection has work to do.
  private var nextTick = Int64.max { didSet { context.scheduleEngines(at: nextTick) } }
  private(set) var isShutDown = false
  /// Whether new connections pass their bytes to tapes: once a stack with a recorder has needed one.
  var isTaped = false

  init(_ settings: EngineSettings, _ connector: any Connector, _ reference: EngineReference, _ context: LoopContext) {
    self.settings = settings.withDecodingMemory()
    headLimits = ExchangeLimits(
      headBytes: settings.maximumHeadBytes, fields: settings.maximumHeaderFields,
      interimResponses: settings.maximumInterimResponses)
    addedFields = AddedFields(
      userAgent: settings.userAgent, sendsAccept: settings.sendsAccept, acceptEncoding: settings.acceptEncoding)
    connectionLifetime = settings.connectionLifetime.nanoseconds
    idleLifetime = settings.idleLifetime.nanoseconds
    self.connector = connector
    self.reference = reference
    self.context = context
    reference.core = self
    reference.group?.join(reference, context.inbox)
  }

  var now: Int64 { context.now }
  /// Whether connections without a request are kept.
  var keepsIdle: Bool { settings.keepsIdle && !isShutDown }
  var isEmpty: Bool { exchanges.isEmpty && held.isEmpty }

  // MARK: Jobs

  /// Begins a job.
  func begin(_ job: EngineJob) {
    if isShutDown { return job.refuse(.shutDown) }
    let key = HostKey(job.request)
    let partition = partition(for: job)
    do throws(TransportError) {
      let host = try host(key, in: partition)
      if !holds(job, for: host) { enter(job, host) }
    } catch {
      job.refuse(error)
    }
  }

  /// Begins a job with the engine's own options if a connection is free for it, so that it neither dials nor waits.
  /// Returns false if the job was not begun.
  func beginAtOnce(_ job: EngineJob) -> Bool {
    guard !isShutDown, job.upload == nil, job.usesDefaultOptions, job.wantedConnections == nil,
      let host = defaultPartition?.hosts[HostKey(job.request)], host.machine.mayServeAlone
    else { return false }
    context.updateNow()
    if let state = host.route.state, state.mustCheck(now: now) { return false }
    enter(job, host)
    return true
  }

  /// Returns whether an open connection can serve a request at once.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  func mayServeAtOnce(_ request: TransferRequest, _ own: SharedOptions?) -> Bool {
    let partition = own.map { partitions[$0.options] } ?? defaultPartition
    guard let host = partition?.hosts[HostKey(request)] else { return false }
    return host.machine.mayServeAtOnce
  }

  /// Holds a job until it has been checked whether connections are current. Returns false if no check is needed, or the
  /// job's time has passed.
  private func holds(_ job: EngineJob, for host: HostPool) -> Bool {
    // A check whose time has passed already would end in this turn, and begin again.
    guard now < job.expiresAt, let state = host.route.state, state.mustCheck(now: now) else { return false }
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
    if job.isCancelled { return job.refuse(.cancelled()) }
    if now >= job.expiresAt { return job.refuse(.expiredInQueue(job.request)) }
    guard reference.group?.queued ?? queuedCount < settings.maximumQueuedRequests || !host.isFull else {
      return job.refuse(.queueFull(settings.maximumQueuedRequests))
    }
    let exchange = Exchange(job, host: host)
    exchange.register(as: exchanges.add(exchange))
    context.exchanges += 1
    host.enter(exchange)
  }

  private func partition(for job: EngineJob) -> HostPartition {
    if job.usesDefaultOptions, let defaultPartition { return defaultPartition }
    if job.sharedOptions.areGiven, let known = partitions[job.options] { return known }
    if partitionCleanup.isDue(count: partitions.count) { forgetUnusedPartitions() }
    let partition = HostPartition(job.sharedOptions, rememberedHosts: settings.rememberedHosts)
    if job.sharedOptions.areGiven { partitions[job.options] = partition }
    if job.usesDefaultOptions { defaultPartition = partition }
    return partition
  }

  private func forgetUnusedPartitions() {
    partitions = partitions.filter { $0.value === defaultPartition || !$0.value.isUnused }
    partitionCleanup.cleanedUp(keeping: partitions.count)
    var kept = Set(partitions.values.map { ObjectIdentifier($0.options) })
    if let defaultPartition { kept.insert(ObjectIdentifier(defaultPartition.options)) }
    hosts.removeAll { !kept.contains(ObjectIdentifier($0.options)) }
  }

  private func host(_ key: HostKey, in partition: HostPartition) throws(TransportError) -> HostPool {
    if let host = partition.hosts[key] { return host }
    guard let target = TrustTarget(authority: key.authority, defaultPort: key.isTLS ? 443 : 80) else {
      throw .unreadableHost
    }
    if let host = partition.host(spelled: key, target) { return host }
    let route = try connector.route(for: key, with: partition.options)
    if partition.cleanup.isDue(count: partition.hosts.count) {
      hosts.removeAll { $0.options === partition.options && $0.isUnused }
      partition.forgetUnused()
    }
    let shared = route.proxy == nil ? nil : partition.proxies[route.key]
    let host = shared ?? HostPool(key: key, target: target, route: route, options: partition.options, engine: self)
    if shared == nil { hosts.append(host) }
    partition.add(host, for: key, target)
    return host
  }

  func cancel(_ job: EngineJob) {
    if let (_, job) = held.removeValue(forKey: ObjectIdentifier(job)) { return job.refuse(.cancelled()) }
    guard let exchange = exchanges[job.exchange] else { return }
    exchange.host.conclude(exchange, .cancelled(requestSent: exchange.requestSent))
  }

  /// Stops accepting jobs. Idle connections are closed now, and the others when their exchanges end.
  func shutDown(cancelling: Bool) {
    isShutDown = true
    for host in hosts { host.machine.stopKeeping() }
    if cancelling {
      let waiting = held.values.sorted { $0.turn < $1.turn }
      held = [:]
      for (_, job) in waiting { job.refuse(.shutDown) }
    }
    // Tunnels are streams, which end at once.
    for exchange in exchanges.all where cancelling || exchange.rest.isOpen {
      exchange.host.conclude(exchange, .shutDown)
    }
    while let oldest = oldestIdle() { retire(oldest) }
    finishShutdown()
  }

  private func finishShutdown() {
    guard isShutDown, isEmpty else { return }
    for host in hosts { host.cancelDials() }
    reference.isFinished.change { $0 = true }
  }

  /// Answers the job of an exchange that has ended.
  ///
  /// - Parameter stream: the link as a stream, if the response ended HTTP on it.
  func answer(
    _ exchange: Exchange, _ failure: TransportError?, facts: TransferFacts, upgraded stream: (any ByteStream)?
  ) {
    guard exchanges.remove(exchange.number) != nil else {
      stream?.close()
      return
    }
    context.exchanges -= 1
    reference.load.decrement()
    exchange.report(failure, facts: facts, upgraded: stream)
    if isShutDown { finishShutdown() }
  }

  /// Returns the counts of each host that has connections or requests.
  func poolCounts() -> [(host: String, counts: PoolCounts)] {
    hosts.filter { !$0.isUnused }.map { host in
      let (key, origin) = (host.key, host.route.origin)
      return (origin.map { "\($0)" } ?? "\(key.isTLS ? "https" : "http")://\(key.authority)", host.machine.counts)
    }
  }

  // MARK: The loop's turn

  func expire(now: Int64) {
    look(now: now)
    if now >= nextTick {
      nextTick = .max
      for host in hosts { host.tick(now: now) }
    }
    if now >= nextIdleEnd { retireIdle(now: now) }
    context.scheduleEngines(at: min(looks.next, nextTick, nextIdleEnd))
  }

  /// Checks the exchanges whose deadlines have passed.
  private func look(now: Int64) {
    var due: [DeadlineHeap.Entry] = []
    while let entry = looks.popDue(now) { due.append(entry) }
    for entry in due {
      guard let exchange = exchanges[entry.number], exchange.lookDueAt == entry.time else { continue }
      exchange.lookDueAt = .max
      if exchange.expiresAt <= now { exchange.expire(now: now) }
      if !exchange.isOver { scheduleCheck(of: exchange) }
    }
  }

  private func retireIdle(now: Int64) {
    nextIdleEnd = .max
    while let oldest = oldestIdle() {
      let end = oldest.idleSince.adding(nanoseconds: idleLifetime)
      if now < end { return nextIdleEnd = end }
      retire(oldest)
    }
  }

  func retire(_ connection: HTTPConnection) {
    connection.session?.retire()
    becameBusy(connection)
  }

  func oldestIdle() -> HTTPConnection? { idle.first { connections[$0]?.idleTurn }.flatMap { connections[$0] } }

  func tearDown() {
    for host in hosts { host.tearDown() }
    for connection in connections.all { connection.close() }
    // Hosts, connections and exchanges refer to the engine. Releasing them breaks the cycles.
    partitions = [:]
    defaultPartition = nil
    hosts = []
    context.forget(self)
    exchanges = NumberedTable()
    reference.leaveGroup(queued: queuedCount, idle: idle.count)
    reference.core = nil
    reference.isFinished.change { $0 = true }
  }

  // MARK: Called by its hosts

  func register(_ connection: HTTPConnection) -> UInt64 {
    reference.countOpened()
    return connections.add(connection)
  }

  func unregister(_ connection: HTTPConnection) { connections.remove(connection.number) }

  func countQueued(_ change: Int) {
    queuedCount += change
    reference.group?.countQueued(change)
  }

  /// Lets an exchange no longer count as running. A tunnel may be open for days, and running exchanges decide how loops
  /// are chosen and when memory is released.
  func tunnelOpened() {
    context.exchanges -= 1
    reference.load.decrement()
  }

  /// Lets the exchange of a tunnel count again, because its end is about to be counted.
  func tunnelWillEnd() {
    context.exchanges += 1
    reference.load.increment()
  }

  /// Schedules a check of an exchange for the time when its next limit passes.
  func scheduleCheck(of exchange: Exchange) {
    let time = exchange.expiresAt
    guard time < exchange.lookDueAt else { return }
    exchange.lookDueAt = time
    looks.add(time, exchange.number)
    if looks.next == time { context.scheduleEngines(at: time) }
    guard looks.count > 2 * exchanges.count + Self.spareLooks else { return }
    looks.keep { entry in exchanges[entry.number]?.lookDueAt == entry.time }
  }

  func scheduleTick(at time: Int64) { if time < nextTick { nextTick = time } }

  /// Records that no request uses the connection any longer. If there are too many, the one that has been idle longest
  /// is closed.
  func becameIdle(_ connection: HTTPConnection) {
    connection.becameIdle(turn: idle.append(connection.number), now: now)
    if idle.count == 1 { nextIdleEnd = connection.idleSince.adding(nanoseconds: idleLifetime) }
    if let group = reference.group {
      if idle.count == 1 { reference.publishIdle(since: connection.idleSince) }
      group.countIdle(1)
    }
    limitIdle()
  }

  /// Records that the connection is in use, or closed. Does nothing if it was not idle.
  func becameBusy(_ connection: HTTPConnection) {
    guard connection.becameBusy() else { return }
    idle.removeOne { connections[$0]?.idleTurn }
    guard let group = reference.group else { return }
    if idle.count == 0 { reference.publishIdle(since: nil) }
    group.countIdle(-1)
  }
}
