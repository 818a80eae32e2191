// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// Carries jobs over connections that libcurl opens and Lastro speaks HTTP on: what waits, what runs, and the
/// connections.
///
/// Owner: ``LoopCore``. Thread: the loop's.
final class DirectCarrier {
  /// In the poller, of its connections.
  static let descriptorOwner = UInt32.max - 2
  /// Beyond so many, unused hosts are forgotten: a crawler meets thousands.
  private static let spareHosts = 1_024
  /// Beyond so many, options with which nothing is under way are forgotten, with what was learned of their hosts.
  private static let sparePartitions = 64

  /// Hosts reached with the same options.
  private final class Partition {
    let options: SharedOptions
    let isDefault: Bool
    @exclusivity(unchecked) var hosts: [HostKey: DirectHost] = [:]
    /// By the URLs of their proxies.
    var forwarders: [String: DirectHost] = [:]
    private var mostHosts = DirectCarrier.spareHosts

    var isUnused: Bool { hosts.values.allSatisfy(\.isUnused) }

    /// Makes room for one more. Where all are in use, it is long until they are looked through again.
    func forgetUnused() {
      guard hosts.count > mostHosts else { return }
      hosts = hosts.filter { !$0.value.isUnused }
      forwarders = forwarders.filter { !$0.value.isUnused }
      mostHosts = max(DirectCarrier.spareHosts, 2 * hosts.count)
    }

    init(_ options: SharedOptions, isDefault: Bool) {
      self.options = options
      self.isDefault = isDefault
    }
  }

  private let streams: StreamHub
  private let context: CarrierContext

  // Unchecked, as others below, because the loop has this carrier alone, and looking up calls nothing that comes back.
  @exclusivity(unchecked) private var defaultPartition: Partition?
  private var partitions: [ConnectionOptions: Partition] = [:]
  private var mostPartitions = DirectCarrier.sparePartitions
  @exclusivity(unchecked) private var exchanges: [ObjectIdentifier: CarriedExchange] = [:]
  /// Jobs that wait until files of TLS options were looked at.
  private var held: [ObjectIdentifier: TransferJob] = [:]
  private var connections: [DirectConnection?] = []
  private let sendingSpace = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
  /// Writes the head of a job's request.
  func write(
    _ job: TransferJob, to host: DirectHost, into bytes: inout [UInt8]
  ) throws(TransportError) -> HTTP1Request {
    let forward = host.forward
    let request = try HTTP1Request(
      job.request, &host.common, target: forward.map { _ in ForwardProxy.target(of: job.request.head) },
      proxyAuthorization: forward?.authorization, mayExpect: host.mayExpect, with: &writer)
    bytes.removeAll(keepingCapacity: true)
    writer.withBytes { bytes += $0 }
    return request
  }

  /// Memory for a piece of a body on its way to an HTTP/2 connection, which sends out of the other.
  private lazy var bodySpace = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
  private var hasBodySpace = false
  // Unchecked because the loop's thread alone touches it, and writing a head calls nothing that comes back here.
  @exclusivity(unchecked) private var writer = RequestWriter()
  /// Jobs that wait for another to end.
  private var queuedCount = 0
  @exclusivity(unchecked) private var idle = IdleQueue()
  /// Hosts with connections of HTTP/2, which want to be looked at when a time comes.
  private var http2Hosts: [ObjectIdentifier: DirectHost] = [:]
  /// Whether the poller was asked, and all it told was heard, since the job was made that begins now: then nothing lies
  /// on an idle connection that came before the job.
  var hasLooked = false
  private var nextExpiry = Int64.max
  private var nextIdleEnd = Int64.max
  /// The time at which an HTTP/2 connection has something to do.
  private var nextTick = Int64.max
  /// Hosts at which something has come free, and HTTP/2 connections with something to send; seen to at the turn's end.
  private var served: [DirectHost] = []
  private var sending: [HTTP2Connection] = []
  /// Results of dials, reported from within the hub and processed in this carrier's turn.
  private var dialed: [() -> Void] = []

  init(_ context: CarrierContext, streams: StreamHub) {
    self.context = context
    self.streams = streams
  }

  var settings: LoopSettings { context.settings }
  private var load: LoadCounter { context.load }
  private var clock: LoopClock { context.clock }

  deinit {
    sendingSpace.deallocate()
    if hasBodySpace { bodySpace.deallocate() }
  }

  var now: Int64 { clock.now }
  /// Connections, dialing or open, in which libcurl has a part.
  var connectionsOfLibcurl: Int { streams.takers.count }
  var isEmpty: Bool { exchanges.isEmpty && held.isEmpty }
  /// The number of different options that it remembers hosts for.
  var knownOptions: Int { partitions.count }
  /// Earliest time at which there is something to do.
  var due: Int64 { dialed.isEmpty ? min(nextExpiry, nextIdleEnd, nextTick) : 0 }

  // MARK: Jobs

  /// Begins a job.
  func begin(_ job: TransferJob) {
    let key = HostKey(job.request.head)
    let partition = partition(for: job)
    do throws(TransportError) {
      let host = try host(key, in: partition)
      if !holds(job, for: host) { enter(job, host) }
    } catch {
      load.end()
      job.finish(error, facts: nil)
    }
  }

  /// Begins a job of the engine's own options where a connection is free for it: that takes no dial, and no time.
  /// False: it was not begun.
  func beginAtOnce(_ job: TransferJob) -> Bool {
    guard job.upload == nil, job.usesDefaultOptions,
      let host = defaultPartition?.hosts[HostKey(job.request.head)], host.hasFreeConnection
    else { return false }
    clock.update()
    guard !mustLook(host) else { return false }
    enter(job, host)
    return true
  }

  /// Whether files of TLS options are to be looked at before a connection of a host is used again.
  private func mustLook(_ host: DirectHost) -> Bool {
    host.profile.map { $0.uses > 0 && streams.mustLook(at: $0, now: clock.now) } ?? false
  }

  /// Has a job wait until the files were looked at. False: they need not be, or the job is over.
  private func holds(_ job: TransferJob, for host: DirectHost) -> Bool {
    // A look whose time has passed already would end in this turn, and begin again.
    guard clock.now < job.expiresAt, mustLook(host), let profile = host.profile else { return false }
    held[ObjectIdentifier(job)] = job
    streams.look(at: profile, until: job.expiresAt) { [unowned self] _ in
      if held.removeValue(forKey: ObjectIdentifier(job)) != nil { begin(job) }
    }
    return true
  }

  private func enter(_ job: TransferJob, _ host: DirectHost) {
    if job.isCancelled { return refuse(job, .cancelled()) }
    if clock.now >= job.expiresAt { return refuse(job, .expiredInQueue(job.request)) }
    guard queuedCount < settings.queuedRequests || !host.isFull else {
      return refuse(job, .queueFull(settings.queuedRequests))
    }
    let exchange =
      host.expectsHTTP2 ? HTTP2Exchange(job, in: context, host: host) : DirectExchange(job, in: context, host: host)
    exchanges[ObjectIdentifier(job)] = exchange
    host.enter(exchange)
  }

  /// The exchange for a connection that speaks HTTP/1.1. What was made for the other version has sent nothing.
  func overHTTP1(_ exchange: CarriedExchange) -> DirectExchange {
    if let exchange = exchange as? DirectExchange { return exchange }
    let other = DirectExchange(exchange.job, in: context, host: exchange.host, startedAt: exchange.startedAt)
    replace(exchange, with: other)
    return other
  }

  /// The exchange for a connection that speaks HTTP/2.
  func overHTTP2(_ exchange: CarriedExchange) -> HTTP2Exchange {
    if let exchange = exchange as? HTTP2Exchange { return exchange }
    let other = HTTP2Exchange(exchange.job, in: context, host: exchange.host, startedAt: exchange.startedAt)
    replace(exchange, with: other)
    return other
  }

  private func replace(_ exchange: CarriedExchange, with other: CarriedExchange) {
    other.requestSent = exchange.requestSent
    exchange.state = .over
    exchanges[ObjectIdentifier(exchange.job)] = other
  }

  private func refuse(_ job: TransferJob, _ error: TransportError) {
    load.end()
    job.finish(error, facts: nil)
  }

  private func partition(for job: TransferJob) -> Partition {
    if job.usesDefaultOptions, let defaultPartition { return defaultPartition }
    if let known = partitions[job.options] { return known }
    forgetUnusedPartitions()
    let partition = Partition(job.sharedOptions, isDefault: job.usesDefaultOptions)
    partitions[job.options] = partition
    if job.usesDefaultOptions { defaultPartition = partition }
    return partition
  }

  private func forgetUnusedPartitions() {
    guard partitions.count > mostPartitions else { return }
    partitions = partitions.filter { $0.value.isDefault || !$0.value.isUnused }
    mostPartitions = max(Self.sparePartitions, 2 * partitions.count)
  }

  private func host(_ key: HostKey, in partition: Partition) throws(TransportError) -> DirectHost {
    if let host = partition.hosts[key] { return host }
    let profile = try streams.profile(for: partition.options.options, areDefault: partition.isDefault)
    let forward = ForwardProxy(profile.applier.proxy(isTLS: key.isTLS, authority: key.authority), for: key)
    guard let target = TrustTarget(authority: key.authority, defaultPort: key.isTLS ? 443 : 80) else {
      throw .unreadableHost
    }
    partition.forgetUnused()
    let host =
      forward.flatMap { partition.forwarders[$0.url] }
      ?? DirectHost(
        key: key, target: target, forward: forward, options: partition.options,
        usesDefaultOptions: partition.isDefault, carrier: self)
    partition.hosts[key] = host
    if let forward { partition.forwarders[forward.url] = host }
    return host
  }

  /// Why a host must not be asked in the clear through a proxy; other dials say so themselves. Not left to the dial,
  /// whose failure ends the request that has waited for the proxy longest.
  func refusal(of target: TrustTarget, over host: DirectHost) -> TransportError? {
    guard host.forward != nil else { return nil }
    do throws(TransportError) {
      let profile = try streams.profile(for: host.options.options, areDefault: host.usesDefaultOptions)
      if case .refused(let failure) = profile.trust.rules.judgePlaintext(target) { throw .refusedTrust(failure) }
      return profile.applier.egressRules?.refusal(ofLiteral: target)
    } catch {
      return error
    }
  }

  func cancel(_ job: TransferJob) {
    if let job = held.removeValue(forKey: ObjectIdentifier(job)) { return refuse(job, .cancelled()) }
    guard let exchange = exchanges[ObjectIdentifier(job)] else { return }
    exchange.host.conclude(exchange, .cancelled(requestSent: exchange.requestSent))
  }

  func resumeReceiving(_ job: TransferJob) { exchanges[ObjectIdentifier(job)]?.resumeReceiving() }

  func resumeSending(_ job: TransferJob) { exchanges[ObjectIdentifier(job)]?.resumeSending() }

  func has(_ job: TransferJob) -> Bool {
    exchanges[ObjectIdentifier(job)] != nil || !held.isEmpty && held[ObjectIdentifier(job)] != nil
  }

  func cancelAll() {
    for job in held.values { refuse(job, .shutDown) }
    held = [:]
    for exchange in Array(exchanges.values) { exchange.host.conclude(exchange, .shutDown) }
  }

  /// Ends an exchange that has no connection.
  func end(_ exchange: CarriedExchange, _ error: TransportError) {
    exchange.state = .over
    answer(exchange, error, facts: exchange.facts())
  }

  func answer(_ exchange: CarriedExchange, _ failure: TransportError?, facts: TransferFacts) {
    guard exchanges.removeValue(forKey: ObjectIdentifier(exchange.job)) != nil else { return }
    load.end()
    exchange.report(failure, facts: facts)
  }

  // MARK: The loop's turn

  func ready(_ ready: Poller.Ready) {
    guard Int(ready.descriptor) < connections.count, let connection = connections[Int(ready.descriptor)] else { return }
    connection.ready(ready)
  }

  func turn() {
    // What comes of it is for the next turn: others have theirs in between.
    let events = dialed
    dialed = []
    for event in events { event() }
  }

  func expire(now: Int64) {
    if now >= nextExpiry {
      nextExpiry = .max
      for exchange in Array(exchanges.values) where exchange.state != .over {
        if exchange.expiresAt <= now { exchange.expire(now: now) }
        if exchange.state != .over { noteExpiry(exchange.expiresAt) }
      }
    }
    if now >= nextTick { tick(now: now) }
    guard now >= nextIdleEnd else { return }
    nextIdleEnd = .max
    while let oldest = oldestIdle() {
      let end = oldest.idleSince.adding(nanoseconds: settings.idleLifetime)
      if now < end { return nextIdleEnd = end }
      retire(oldest)
    }
  }

  private func retire(_ connection: DirectConnection) {
    connection.retireIdle()
    noteBusy(connection)
  }

  private func oldestIdle() -> DirectConnection? {
    idle.first { connections[Int($0)]?.idleTurn }.flatMap { connections[Int($0)] }
  }

  private func tick(now: Int64) {
    nextTick = .max
    for host in Array(http2Hosts.values) { host.pool.tick(now: now) }
  }

  /// Sees to what came free in this turn, and sends what HTTP/2 connections have to send: all of a turn at once.
  func settle() {
    while !(served.isEmpty && sending.isEmpty) {
      let hosts = served
      served = []
      for host in hosts { host.pool.serve() }
      let connections = sending
      sending = []
      for connection in connections { connection.flush() }
    }
  }

  func tearDown() {
    for partition in partitions.values {
      for host in partition.hosts.values { host.tearDown() }
    }
    partitions = [:]
    defaultPartition = nil
    http2Hosts = [:]
    connections = []
  }

  // MARK: Called by its hosts

  /// Memory for what comes in. Not for two at once.
  func withScratch<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result { try streams.withScratch(body) }

  /// Memory for what goes out: an answer that is read may ask for it.
  func withSendingSpace<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result { try body(sendingSpace) }

  /// Memory for a piece of a body that is read while something is sent.
  func withBodySpace<Result, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    hasBodySpace = true
    return try body(bodySpace)
  }

  func dial(_ dial: StreamDial, for host: DirectHost) { streams.dial(dial, for: host) }

  func dropDial(_ id: UInt64) { streams.drop(id) }

  func noteDialed(_ event: @escaping () -> Void) { dialed.append(event) }

  func register(_ connection: DirectConnection) {
    let index = Int(connection.descriptor)
    while connections.count <= index { connections.append(nil) }
    connections[index] = connection
  }

  func unregister(_ connection: DirectConnection) {
    let index = Int(connection.descriptor)
    if index < connections.count, connections[index] === connection { connections[index] = nil }
  }

  func noteQueued(_ change: Int) { queuedCount += change }

  func noteExpiry(_ time: Int64) { nextExpiry = min(nextExpiry, time) }

  func noteTick(_ time: Int64) { nextTick = min(nextTick, time) }

  /// Something has come free at a host; once until its pool was seen to.
  func noteService(_ host: DirectHost) {
    if host.pool.isAwaitingService { return }
    host.pool.isAwaitingService = true
    served.append(host)
  }

  /// An HTTP/2 connection has something to send; once until it was flushed.
  func noteOutput(_ connection: HTTP2Connection) { sending.append(connection) }

  /// A host has connections of HTTP/2, or has none any more.
  func noteHTTP2(_ host: DirectHost, _ hasSome: Bool) { http2Hosts[ObjectIdentifier(host)] = hasSome ? host : nil }

  /// No request uses the connection from here on. Of too many the one goes that has been idle for longest.
  func noteIdle(_ connection: DirectConnection) {
    connection.noteIdle(turn: idle.append(connection.descriptor), now: clock.now)
    if idle.count == 1 { nextIdleEnd = connection.idleSince.adding(nanoseconds: settings.idleLifetime) }
    if idle.count > settings.idleConnections { oldestIdle().map(retire) }
  }

  /// The connection is in use from here on, or closed. One that was not idle stays what it was.
  func noteBusy(_ connection: DirectConnection) {
    guard connection.noteBusy() else { return }
    idle.noteGone { connections[Int($0)]?.idleTurn }
  }

  func isTooOld(_ connection: DirectConnection) -> Bool {
    clock.now >= connection.bornAt.adding(nanoseconds: settings.connectionLifetime)
  }
}
