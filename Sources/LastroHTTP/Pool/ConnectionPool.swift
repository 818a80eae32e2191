// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// Performs what ``HostState`` decides: begins jobs on connections, dials, closes.
final class ConnectionPool: ConnectionOwner {
  /// A job of which nothing was sent, because the trust rules had changed or its connection was at its end, is dialed
  /// for anew. That does not happen so often on purpose.
  static let mostRestarts = 16
  /// Beyond so many, unused hosts are forgotten: a crawler meets thousands.
  private static let spareHosts = 1_024

  struct Limits: Sendable {
    var host: HostState.Limits
    var idleConnections: Int
    var idleLifetime: Duration
    var queuedJobs: Int
  }

  struct Key: Hashable, Sendable {
    var origin: Origin
    var connection: ConnectionOptions?
  }

  private struct State {
    var hosts: [Key: HostState] = [:]
    var jobs: [ObjectIdentifier: (job: ExchangeJob, key: Key)] = [:]
    var keys: [ObjectIdentifier: Key] = [:]
    /// Connections that no job uses.
    var idleCount = 0
    var isClosed = false

    mutating func forget(_ job: ExchangeJob, _ key: Key) -> [HostState.Step] {
      guard let steps = hosts[key]?.forget(job), !steps.isEmpty else { return [] }
      if hosts.count > ConnectionPool.spareHosts, hosts[key]?.isUnused ?? false { hosts[key] = nil }
      return steps
    }

    mutating func keep(_ host: HostState, _ key: Key, idleBefore idle: Int) {
      idleCount += host.idleCount - idle
      if hosts.count <= ConnectionPool.spareHosts || !host.isUnused { hosts[key] = host }
    }
  }

  let limits: Limits
  let settings: ExchangeSettings
  private let dialer: any Dialer
  private let role: ServerTrust.Role
  private let state = Watched(State())
  private let sweeper = Lock<Alarm?>(nil)

  init(_ dialer: any Dialer, role: ServerTrust.Role, limits: Limits, settings: ExchangeSettings) {
    self.dialer = dialer
    self.role = role
    self.limits = limits
    self.settings = settings
    let alarm = Alarm(settings.time) { [weak self] now in self?.sweep(now) }
    sweeper.withLock { $0 = alarm }
  }

  deinit { sweeper.withLock { $0 }?.cancel() }

  private var now: Duration { settings.time.now() }

  // MARK: Jobs

  func enter(_ job: ExchangeJob, _ key: Key) {
    job.watch { [weak job] now in
      job?.check(now)
    } ended: { [weak self, weak job] in
      if let job { self?.forget(job) }
    }
    let refusal: TransportError? = state.change { state in
      if state.isClosed { return .shutDown }
      // Counted only where there may be so many.
      if state.jobs.count >= limits.queuedJobs, state.hosts[key]?.isFull(limits.host) ?? false,
        state.hosts.values.reduce(0, { $0 + max(0, $1.waiting.count - $1.dials) }) >= limits.queuedJobs
      {
        return .queueFull(limits.queuedJobs)
      }
      state.jobs[ObjectIdentifier(job)] = (job, key)
      return nil
    }
    if let refusal { return job.finish(refusal, facts: nil) }
    enter(job, key, front: false)
  }

  private func enter(_ job: ExchangeJob, _ key: Key, front: Bool) {
    change(key) { host in host.enter(job, front: front, now: now, limits.host) }
    // One that was given up meanwhile has not been found.
    if job.isOver { perform(state.change { $0.forget(job, key) }, key) }
  }

  /// A job is over.
  private func forget(_ job: ExchangeJob) {
    let found = state.change { state -> ([HostState.Step], Key)? in
      guard let (_, key) = state.jobs.removeValue(forKey: ObjectIdentifier(job)) else { return nil }
      return (state.forget(job, key), key)
    }
    if let (steps, key) = found { perform(steps, key) }
  }

  func again(_ job: ExchangeJob) {
    guard let key = state.read({ $0.jobs[ObjectIdentifier(job)]?.key }) else { return }
    enter(job, key, front: true)
  }

  // MARK: Connections

  func freed(_ connection: HTTP1Connection) {
    let keepAlive = connection.keepAlive
    change(connection) { host in host.freed(connection, keepAlive: keepAlive, now: now, limits.host) }
    trimIdle()
  }

  func gone(_ connection: any ExchangeConnection) {
    change(connection) { host in host.gone(connection, now: now, limits.host) }
    state.change { $0.keys[ObjectIdentifier(connection)] = nil }
  }

  /// A stream of an HTTP/2 connection has ended, or its number of streams has changed.
  func changed(_ connection: HTTP2Connection, used: Int, capacity: Int?) {
    change(connection) { host in
      host.changed(connection, used: used, capacity: capacity, now: now, limits.host)
    }
    trimIdle()
  }

  /// The server asks for HTTP/1.1.
  func demandsHTTP1(_ connection: HTTP2Connection) {
    change(connection) { host in
      host.demandHTTP1(now: now)
      return []
    }
  }

  private func trimIdle() {
    while true {
      let steps: ([HostState.Step], Key)? = state.change { state in
        guard state.idleCount > (state.isClosed ? 0 : limits.idleConnections) else { return nil }
        let oldest = state.hosts.min { ($0.value.oldestIdle ?? .infinite) < ($1.value.oldestIdle ?? .infinite) }
        guard let key = oldest?.key, var host = state.hosts.removeValue(forKey: key) else { return nil }
        let steps = host.closeOldest()
        state.keep(host, key, idleBefore: host.idleCount + steps.count)
        return steps.isEmpty ? nil : (steps, key)
      }
      guard let (steps, key) = steps else { break }
      perform(steps, key)
    }
    sweeper.withLock { $0 }?.set(now + limits.idleLifetime)
  }

  private func sweep(_ now: Duration) -> Duration? {
    var next: Duration?
    let found = state.change { state in
      var found: [(Key, [HostState.Step])] = []
      for key in Array(state.hosts.keys) {
        guard var host = state.hosts.removeValue(forKey: key) else { continue }
        let idle = host.idleCount
        let (time, steps) = host.closeIdle(now: now, after: limits.idleLifetime)
        state.keep(host, key, idleBefore: idle)
        if let time { next = min(next ?? time, time) }
        found.append((key, steps))
      }
      return found
    }
    for (key, steps) in found { perform(steps, key) }
    return next
  }

  // MARK: Performing

  private func change(_ connection: any ExchangeConnection, _ body: (inout HostState) -> [HostState.Step]) {
    guard let key = state.read({ $0.keys[ObjectIdentifier(connection)] }) else { return }
    change(key, body)
  }

  private func change(_ key: Key, _ body: (inout HostState) -> [HostState.Step]) {
    let steps = state.change { state in
      var host = state.hosts.removeValue(forKey: key) ?? HostState(mayShare: mayShare(key))
      let idle = host.idleCount
      let steps = body(&host)
      state.keep(host, key, idleBefore: idle)
      return steps
    }
    perform(steps, key)
  }

  private func mayShare(_ key: Key) -> Bool {
    guard settings.offersHTTP2 else { return false }
    return switch key.connection?.httpVersion ?? .automatic {
    case .http1: false
    case .automatic: key.origin.scheme == "https"
    case .http2: true
    }
  }

  private func perform(_ steps: [HostState.Step], _ key: Key) {
    for step in steps {
      switch step {
      case .begin(let job, let connection): begin(job, on: connection)
      case .share(let job, let connection): share(job, on: connection)
      case .dial(let job, let dial): begin(dial, for: job, key)
      case .giveUp(let dial): dial.cancel()
      case .limit(let job): job.noteDial()
      case .close(let connection):
        state.change { $0.keys[ObjectIdentifier(connection)] = nil }
        connection.close()
      case .fail(let job, let error): finish(job, error)
      }
    }
  }

  private func finish(_ job: ExchangeJob, _ error: TransportError) {
    job.finish(error, facts: TransferFacts(timings: .init(total: now - job.enteredAt)))
  }

  private func begin(_ job: ExchangeJob, on connection: HTTP1Connection) {
    switch connection.begin(job) {
    case .begun: break
    case .over: freed(connection)
    case .unfit:
      gone(connection)
      restart(job)
    case .refused(let error):
      freed(connection)
      finish(job, error)
    }
  }

  private func share(_ job: ExchangeJob, on connection: HTTP2Connection) {
    switch connection.begin(job) {
    case .begun: break
    case .over: connection.giveBack()
    case .unfit:
      connection.giveBack()
      restart(job)
    case .refused(let error):
      connection.giveBack()
      finish(job, error)
    }
  }

  private func restart(_ job: ExchangeJob) {
    guard job.noteRestart() <= Self.mostRestarts else { return finish(job, .unsteadyTrust) }
    again(job)
  }

  // MARK: Dials

  private func begin(_ dial: PendingDial, for job: ExchangeJob, _ key: Key) {
    let request = dialRequest(job, key)
    let origin = ConnectionOrigin(dialer, request)
    dial.run { [self] in
      do throws(TransportError) {
        stands(dial, try await dialer.dial(request), origin, key)
      } catch {
        // Whatever the dialer sent to a proxy, the server has seen nothing of the request.
        let target = "\(request.host.bracketedHost):\(request.port)"
        let error = error.beforeSending(to: target, within: request.connectTimeout)
        change(key) { host in host.dialFailed(dial, error, now: now, limits.host) }
      }
    }
  }

  private func isHTTP1Wanted(_ key: Key) -> Bool { state.read { $0.hosts[key]?.wantsHTTP1(now: now) ?? false } }

  private func dialRequest(_ job: ExchangeJob, _ key: Key) -> DialRequest {
    let mayShare = mayShare(key) && !isHTTP1Wanted(key)
    let protocols = mayShare ? ["h2", "http/1.1"] : ["http/1.1"]
    return DialRequest(
      host: key.origin.host.unbracketedHost, port: key.origin.port,
      tls: key.origin.scheme == "https" ? DialRequest.TLS(applicationProtocols: protocols) : nil, role: role,
      connection: key.connection, connectTimeout: job.request.connectTimeout ?? job.request.deadline)
  }

  private func stands(_ dial: PendingDial, _ stream: any ByteStream, _ origin: ConnectionOrigin, _ key: Key) {
    let isHTTP2 =
      origin.request.tls == nil
      ? mayShare(key) && !isHTTP1Wanted(key) : stream.facts.tls?.applicationProtocol == "h2"
    let memory = state.read { $0.hosts[key]?.memory } ?? HostMemory()
    if isHTTP2 {
      let connection = HTTP2Connection(stream, pool: self, origin: origin)
      state.change { $0.keys[ObjectIdentifier(connection)] = key }
      change(key) { host in
        host.dialed(dial, connection, capacity: settings.http2Streams, now: now, limits.host)
      }
      // Not before: one whose end is read at once is told to be gone, and must be known by then.
      connection.open()
    } else {
      let connection = HTTP1Connection(stream, owner: self, host: memory, origin: origin)
      state.change { $0.keys[ObjectIdentifier(connection)] = key }
      change(key) { host in host.dialed(dial, connection, now: now, limits.host) }
      connection.open()
    }
    trimIdle()
  }

  // MARK: The end

  /// Takes no more jobs. Idle connections are closed, and others when they are.
  func close() {
    state.change { $0.isClosed = true }
    trimIdle()
  }

  /// Waits until all jobs are over.
  func waitUntilIdle() async -> Bool { await state.wait { $0.jobs.isEmpty } }

  func cancelAll() {
    for job in state.read({ $0.jobs.values.map(\.job) }) { job.abandon(.shutDown) }
    cancelDials()
    let left = state.read { $0.hosts.values.flatMap(\.allConnections) }
    for connection in left { connection.close() }
  }

  /// No job is left for them.
  func cancelDials() {
    for dial in state.read({ $0.hosts.values.flatMap(\.dialing) }) { dial.cancel() }
  }
}

extension Duration {
  fileprivate static let infinite = Duration.seconds(Int64.max)
}
