// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// A job of an engine, whatever protocol its connection speaks: waiting for a connection, and then on one.
///
/// Owner: its ``HostPool`` while it waits, its connection while it runs. Thread: the loop's.
class Exchange: ResponseReceiver {
  /// The state of an exchange.
  enum State {
    case waiting
    case running
    case over
  }

  enum Start {
    case running
    /// The connection cannot carry it; another may.
    case outdated
    case failed(TransportError)
  }

  final let host: HostPool
  final var state = State.waiting
  /// The time at which the dial began that it waits for; `nil` while it waits for another request's end.
  final var dialBeganAt: Int64?
  /// The time at which that dial must have ended.
  final var dialEndsAt: Int64 {
    guard let dialBeganAt, let limit = job.request.connectTimeout else { return .max }
    return dialBeganAt.adding(limit)
  }
  /// The end of the wait for a connection. The dial, which knows what it waited for, may end first.
  private var connectExpiresAt: Int64 { dialEndsAt.adding(.milliseconds(50)) }
  /// Whether the source of the body has nothing at the moment.
  final var sendingPaused = false
  /// Whether the answer is complete, and only the end of the upload's source is waited for.
  final var isDelivered = false
  /// Whether it waits for a connection that has served no request.
  final var wantsFresh = false
  /// Whether its connection served another request before.
  final var isOnReused = false
  final var verdict: TrustVerdict?
  final var sentBytes: Int64 = 0
  final var bodyBytes: Int64 = 0
  final var sentAt: Int64?
  final var firstByteAt: Int64?
  final var version: String?
  // Unchecked because the loop has it alone, and setting it calls nothing.
  @exclusivity(unchecked) final private(set) var trailers: HTTPFields = [:]
  // Unchecked for the same reason.
  @exclusivity(unchecked) final private var deliveryWatch = DeliveryWatch()

  init(_ job: EngineJob, host: HostPool, startedAt: Int64? = nil) {
    self.host = host
    super.init(job, in: host.engine, startedAt: startedAt)
  }

  // MARK: What a protocol adds

  /// The reader has taken what lay there.
  func resumeReceiving() {}

  /// The source has more, or has ended.
  func resumeSending() {}

  /// Leaves its connection, which serves others where it can.
  func leave(_ failure: TransportError?) {}

  /// Makes it wait for another connection, as if nothing had been sent.
  func rewind() {
    state = .waiting
    uploadOffset = 0
    sendingPaused = false
    firstByteAt = nil
    trailers = [:]
    dialBeganAt = nil
  }

  final func received(interim head: ResponseHead) { job.request.interimTelling(head)?() }

  final func received(trailers fields: [ResponseHead.Field]) { trailers = HTTPFields(trailers: fields) }

  /// The connection that it is on, or was on at last.
  var wire: HTTPConnection? { nil }

  /// Whether no other exchange writes on its connection.
  var isAlone: Bool { true }

  /// Ends it with what there is.
  func finish() {}

  // MARK: Deadlines

  /// Until then the body of a refusal is read.
  final private var patienceEndsAt = Int64.max

  /// The time at which the loop must look at it again.
  var expiresAt: Int64 {
    if let drainsUntil { return drainsUntil }
    if let answersHeadAt { return min(job.expiresAt, answersHeadAt) }
    if state == .waiting { return min(job.expiresAt, connectExpiresAt, idleDialEndsAt) }
    let end = min(job.expiresAt, patienceEndsAt)
    guard let idle = job.request.idleTimeout, !waitsForUs else { return end }
    return min(end, deliveryWatch.nextLook(after: lastActivity, limit: idle.nanoseconds))
  }

  /// Fails a refusal's body that takes too long: what matters is its status.
  final func cutLate() {
    patienceEndsAt = .max
    route.cutLate()
    finish()
  }

  /// Limits the time that is spent on the body of a refusal.
  final func limitPatience() {
    guard isErrorAnswer, let limit = limits.errorBodyTime else { return }
    // Half of the rest, so that the status is reported before the deadline passes.
    let left = job.expiresAt == .max ? Int64.max : (job.expiresAt - clock.now) / 2
    patienceEndsAt = clock.now.adding(nanoseconds: min(limit.nanoseconds, left))
    host.engine.noteExpiry(expiresAt)
  }

  /// A handshake in which nothing moves is idle, too.
  private var idleDialEndsAt: Int64 {
    guard let dialBeganAt, let idle = job.request.idleTimeout else { return .max }
    return dialBeganAt.adding(idle)
  }

  /// Whether nothing moves because of our own side: a slow reader, or a slow source while no answer has come.
  private var waitsForUs: Bool { receivingPaused || (sendingPaused && response == nil) }

  /// Notes that it moves again: while it waited for us, its idle limit did not run.
  final func noteActivity() {
    lastActivity = clock.now
    host.engine.noteExpiry(expiresAt)
  }

  /// Its time has come, of one kind or another.
  func expire(now: Int64) {
    if now >= patienceEndsAt, now < job.expiresAt { return cutLate() }
    if !isAlive(now: now) { timeOut(now: now) }
  }

  /// Whether only the time of a look has come, and not the end of a limit.
  private func isAlive(now: Int64) -> Bool {
    guard state == .running, drainsUntil == nil, !waitsForUs, now < job.expiresAt,
      let limit = job.request.idleTimeout?.nanoseconds
    else { return false }
    lastActivity = max(lastActivity, handedOutAt)
    lastActivity = deliveryWatch.look(
      at: wire?.peerDelivery(now: now), after: lastActivity, limit: limit, now: now, isAlone: isAlone)
    return now < lastActivity.adding(nanoseconds: limit)
  }

  /// The time at which bytes were handed to the connection last, where ``lastActivity`` does not include it.
  var handedOutAt: Int64 { .min }

  /// Fails it, for its limit has passed.
  func timeOut(now: Int64) {
    host.conclude(self, .timedOut(self, isDelivered: isDelivered, connectExpiresAt: connectExpiresAt, now: now))
  }

  // MARK: What is known

  override final var wireBytes: Int64 { bodyBytes }

  override final func facts() -> TransferFacts {
    let wire = wire
    var timings = isOnReused ? TransferFacts.Timings() : wire?.facts.timings ?? TransferFacts.Timings()
    timings.requestStart = sentAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.firstByte = firstByteAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.total = .nanoseconds(max(0, clock.now - startedAt))
    timings.queued = .nanoseconds(max(0, startedAt - job.enqueuedAt))
    // In one initializer: each property that is set separately costs an allocation.
    return TransferFacts(
      httpVersion: version, remoteAddress: wire?.facts.remoteAddress, remotePort: wire?.facts.remotePort,
      connectionID: wire?.facts.localPort.map(Int64.init), connectionReused: isOnReused, bytesSent: sentBytes,
      bytesReceived: bodyBytes, resends: job.resends, trust: verdict, timings: timings, bodyCut: bodyCut,
      trailers: trailers)
  }
}
