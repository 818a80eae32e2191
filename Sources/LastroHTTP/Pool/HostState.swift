// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What is known of one host under one set of options: jobs that wait, connections, dials. Decides, and does nothing.
///
/// A job is not bound to a dial: the first connection that is free takes the first job that waits.
struct HostState {
  /// Connections of HTTP/2 beyond which jobs wait for a stream.
  static let mostShared = 4

  /// What the host is known to speak.
  enum Version {
    /// Nothing was dialed yet. Where HTTP/2 may come of it, one dial is enough to learn that.
    case unknown
    case http1
    case http2
  }

  struct Idle {
    let connection: HTTP1Connection
    let since: Duration
    /// Whether it has served no job yet.
    var isFresh = false
    /// From then on its server may close it (`Keep-Alive: timeout=`).
    var fitUntil: Duration?
  }

  /// A connection of HTTP/2.
  struct Shared {
    let connection: HTTP2Connection
    let bornAt: Duration
    var used: Int
    var capacity: Int
    var idleSince: Duration
    /// Too old, or about to close: it takes no more jobs.
    var isRetired = false
  }

  struct Waiting {
    let job: ExchangeJob
    /// Whether its limit for a connection runs.
    var isLimited = false
  }

  enum Step {
    case begin(ExchangeJob, HTTP1Connection)
    case share(ExchangeJob, HTTP2Connection)
    case dial(ExchangeJob, PendingDial)
    case giveUp(PendingDial)
    /// A dial is under way that will serve the job, be it another's: its limit for a connection runs from here on.
    case limit(ExchangeJob)
    case close(any ExchangeConnection)
    case fail(ExchangeJob, TransportError)
  }

  struct Limits {
    var connections: Int
    var lifetime: Duration
    /// Whether a connection may be kept for another job at all. One that may not is closed behind its job, also where
    /// others wait: they have connections of their own.
    var keepsIdle = true
  }

  let mayShare: Bool
  let memory = HostMemory()
  var version: Version
  private(set) var waiting: [Waiting] = []
  /// The latest used last: it is taken first, and the oldest come to their end.
  private(set) var idle: [Idle] = []
  private(set) var shared: [Shared] = []
  private var running: [ObjectIdentifier: HTTP1Connection] = [:]
  private var born: [ObjectIdentifier: Duration] = [:]
  /// The latest last.
  private(set) var dialing: [PendingDial] = []
  /// The time for which all requests go to a server over HTTP/1.1 after it asked for that once (HTTP_1_1_REQUIRED).
  private static let http1Span = Duration.seconds(300)
  private var http1Until = Duration.zero

  init(mayShare: Bool) {
    self.mayShare = mayShare
    version = mayShare ? .unknown : .http1
  }

  var dials: Int { dialing.count }
  var isUnused: Bool { waiting.isEmpty && idle.isEmpty && shared.isEmpty && running.isEmpty && dials == 0 }
  private var connections: Int { running.count + idle.count + shared.count + dials }
  var allConnections: [any ExchangeConnection] {
    idle.map(\.connection) + shared.map(\.connection) + Array(running.values)
  }

  /// Whether one more would have to wait for another to end.
  func isFull(_ limits: Limits) -> Bool {
    idle.isEmpty && !shared.contains { $0.used < $0.capacity && !$0.isRetired }
      && (waiting.count > dials || connections >= limits.connections)
  }

  // MARK: Jobs

  mutating func enter(_ job: ExchangeJob, front: Bool, now: Duration, _ limits: Limits) -> [Step] {
    if front { waiting.insert(Waiting(job: job), at: 0) } else { waiting.append(Waiting(job: job)) }
    return serve(now: now, limits)
  }

  /// A job is over. No dial goes on that no job wants: one that hangs would be what later jobs wait for. The job's own
  /// is given up where it is still under way, for the others have those that were begun for them; else the latest.
  mutating func forget(_ job: ExchangeJob) -> [Step] {
    guard let index = waiting.firstIndex(where: { $0.job === job }) else { return [] }
    waiting.remove(at: index)
    var steps: [Step] = []
    while dials > waiting.count {
      let own = dialing.firstIndex { $0.job == ObjectIdentifier(job) }
      steps.append(.giveUp(dialing.remove(at: own ?? dialing.count - 1)))
    }
    return steps
  }

  /// Gives connections to those that wait, and dials for the others.
  mutating func serve(now: Duration, _ limits: Limits) -> [Step] {
    var steps: [Step] = []
    var index = 0
    while index < waiting.count {
      let job = waiting[index].job
      if let step = place(job, now: now, limits, &steps) {
        waiting.remove(at: index)
        steps.append(step)
      } else if job.wantsFresh {
        index += 1
      } else {
        break
      }
    }
    var begun: [Step] = []
    while dials < wantedDials, dials < waiting.count {
      if connections >= limits.connections {
        guard let oldest = idle.first, waiting[dials].job.wantsFresh else { break }
        idle.removeFirst()
        close(oldest.connection, &steps)
      }
      let dial = PendingDial(for: waiting[dials].job)
      begun.append(.dial(waiting[dials].job, dial))
      dialing.append(dial)
    }
    return steps + limitWaits() + begun
  }

  /// Where HTTP/2 may come of it, all that wait share the dials.
  private mutating func limitWaits() -> [Step] {
    guard dials > 0 else { return [] }
    let served = version == .http1 ? min(dials, waiting.count) : waiting.count
    return waiting.indices.prefix(served).compactMap { index in
      guard !waiting[index].isLimited else { return nil }
      waiting[index].isLimited = true
      return .limit(waiting[index].job)
    }
  }

  private mutating func place(
    _ job: ExchangeJob, now: Duration, _ limits: Limits, _ steps: inout [Step]
  ) -> Step? {
    if let index = shared.lastIndex(where: { $0.used < $0.capacity && !$0.isRetired }) {
      guard now < shared[index].bornAt + limits.lifetime else {
        retire(index, &steps)
        return place(job, now: now, limits, &steps)
      }
      shared[index].used += 1
      return .share(job, shared[index].connection)
    }
    let wantsFresh = job.wantsFresh
    while let index = idle.lastIndex(where: { $0.isFresh || !wantsFresh }) {
      let entry = idle.remove(at: index), connection = entry.connection
      guard !isTooOld(connection, now: now, limits), entry.fitUntil.map({ now < $0 }) ?? true else {
        close(connection, &steps)
        continue
      }
      running[ObjectIdentifier(connection)] = connection
      return .begin(job, connection)
    }
    return nil
  }

  private mutating func close(_ connection: HTTP1Connection, _ steps: inout [Step]) {
    born[ObjectIdentifier(connection)] = nil
    steps.append(.close(connection))
  }

  private mutating func retire(_ index: Int, _ steps: inout [Step]) {
    shared[index].isRetired = true
    if shared[index].used == 0 { steps.append(.close(shared.remove(at: index).connection)) }
  }

  private var wantedDials: Int {
    switch version {
    case .unknown: 1
    case .http1: waiting.count
    case .http2: shared.lazy.filter { !$0.isRetired }.count < Self.mostShared ? 1 : 0
    }
  }

  private func isTooOld(_ connection: HTTP1Connection, now: Duration, _ limits: Limits) -> Bool {
    born[ObjectIdentifier(connection)].map { now >= $0 + limits.lifetime } ?? true
  }

  // MARK: Dials

  /// Whether the server asked for HTTP/1.1 a short while ago.
  func wantsHTTP1(now: Duration) -> Bool { now < http1Until }

  /// The server asks for HTTP/1.1: its connections of HTTP/2 take no more jobs, and for five minutes no other is
  /// dialed.
  mutating func demandHTTP1(now: Duration) {
    http1Until = now + Self.http1Span
    version = .http1
    for index in shared.indices { shared[index].isRetired = true }
  }

  /// False: it was given up.
  private mutating func end(_ dial: PendingDial) -> Bool {
    guard let index = dialing.firstIndex(where: { $0 === dial }) else { return false }
    dialing.remove(at: index)
    return true
  }

  mutating func dialed(
    _ dial: PendingDial, _ connection: HTTP1Connection, now: Duration, _ limits: Limits
  ) -> [Step] {
    guard end(dial) else { return [.close(connection)] }
    version = .http1
    born[ObjectIdentifier(connection)] = now
    idle.append(Idle(connection: connection, since: now, isFresh: true))
    return serve(now: now, limits)
  }

  mutating func dialed(
    _ dial: PendingDial, _ connection: HTTP2Connection, capacity: Int, now: Duration, _ limits: Limits
  ) -> [Step] {
    guard end(dial) else { return [.close(connection)] }
    version = .http2
    shared.append(Shared(connection: connection, bornAt: now, used: 0, capacity: capacity, idleSince: now))
    return serve(now: now, limits)
  }

  mutating func dialFailed(
    _ dial: PendingDial, _ error: TransportError, now: Duration, _ limits: Limits
  ) -> [Step] {
    guard end(dial) else { return [] }
    // Nothing is learnt of a host that cannot be reached: each that waits may try by itself.
    if version == .unknown { version = .http1 }
    var steps: [Step] = []
    // Each that waits has a limit of its own.
    if error.code != .connectTimeout, !waiting.isEmpty { steps.append(.fail(waiting.removeFirst().job, error)) }
    return steps + serve(now: now, limits)
  }

  // MARK: Connections

  /// An HTTP/1.1 connection may carry another job. A request takes a while to arrive, so that the last second that its
  /// server keeps it for does not count; of a short time, half.
  ///
  /// - Parameter keepAlive: how long that is, where it says so.
  mutating func freed(
    _ connection: HTTP1Connection, keepAlive: Duration?, now: Duration, _ limits: Limits
  ) -> [Step] {
    guard running.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return [] }
    guard limits.keepsIdle, !isTooOld(connection, now: now, limits) else {
      born[ObjectIdentifier(connection)] = nil
      return [.close(connection)] + serve(now: now, limits)
    }
    let fitUntil = keepAlive.map { now + max($0 - .seconds(1), $0 / 2) }
    idle.append(Idle(connection: connection, since: now, fitUntil: fitUntil))
    return serve(now: now, limits)
  }

  mutating func gone(_ connection: any ExchangeConnection, now: Duration, _ limits: Limits) -> [Step] {
    let id = ObjectIdentifier(connection)
    running[id] = nil
    born[id] = nil
    idle.removeAll { $0.connection === connection }
    shared.removeAll { $0.connection === connection }
    return serve(now: now, limits)
  }

  /// A stream of an HTTP/2 connection has ended, or its number of streams has changed.
  ///
  /// - Parameter capacity: how many it may have; `nil` where it takes no more, ever.
  mutating func changed(
    _ connection: HTTP2Connection, used: Int, capacity: Int?, now: Duration, _ limits: Limits
  ) -> [Step] {
    guard let index = shared.firstIndex(where: { $0.connection === connection }) else { return [] }
    shared[index].used -= used
    if let capacity { shared[index].capacity = capacity } else { shared[index].isRetired = true }
    shared[index].idleSince = now
    if used > 0, shared[index].used <= 0, !limits.keepsIdle { shared[index].isRetired = true }
    var steps: [Step] = []
    if shared[index].isRetired, shared[index].used <= 0 { retire(index, &steps) }
    return steps + serve(now: now, limits)
  }

  // MARK: Idle connections

  /// When the next idle connection's time is over, after closing those whose is.
  mutating func closeIdle(now: Duration, after lifetime: Duration) -> (next: Duration?, steps: [Step]) {
    let isOver = { (since: Duration) in now >= since + lifetime }
    var steps = idle.filter { isOver($0.since) }.map { Step.close($0.connection) }
    for entry in idle where isOver(entry.since) { born[ObjectIdentifier(entry.connection)] = nil }
    idle.removeAll { isOver($0.since) }
    steps += shared.filter { $0.used == 0 && isOver($0.idleSince) }.map { Step.close($0.connection) }
    shared.removeAll { $0.used == 0 && isOver($0.idleSince) }
    let times = idle.map(\.since) + shared.filter { $0.used == 0 }.map(\.idleSince)
    return (times.min().map { $0 + lifetime }, steps)
  }

  var idleCount: Int { idle.count + shared.lazy.filter { $0.used == 0 }.count }
  var oldestIdle: Duration? {
    (idle.lazy.map(\.since) + shared.lazy.filter { $0.used == 0 }.map(\.idleSince)).min()
  }

  /// Closes the connection that has been idle for longest.
  mutating func closeOldest() -> [Step] {
    guard let oldest = oldestIdle else { return [] }
    if let first = idle.first, first.since <= oldest {
      born[ObjectIdentifier(first.connection)] = nil
      return [.close(idle.removeFirst().connection)]
    }
    guard let index = shared.firstIndex(where: { $0.used == 0 && $0.idleSince <= oldest }) else { return [] }
    return [.close(shared.remove(at: index).connection)]
  }
}
