// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The execution of one job of an engine, over any version of HTTP: an exchange waits for a connection, and then runs
/// on it.
///
/// It tracks the request's progress, the limits and the facts. Its ``ResponseReceiver`` handles the response, and its
/// ``ExchangeRunner`` sends and receives on the connection.
///
/// Owner: ``HTTPEngine``. Thread: the loop's. The class is not `Sendable`, so the compiler keeps it on that thread.
final class Exchange {
  /// The exchange's number in the engine.
  private(set) var number: UInt64 = 0
  let job: EngineJob
  let host: HostPool
  // Unchecked because only the loop uses it, and delivering a body does not call back into the exchange.
  @exclusivity(unchecked) var receiver: ResponseReceiver
  /// Whether the exchange has ended. It may still have its connection.
  private(set) var isOver = false
  /// The runner on the connection; `nil` while the exchange waits, and once it is over.
  private(set) var runner: (any ExchangeRunner)?

  // MARK: Waiting

  /// The time at which the wait for a dial began; `nil` while no dial will serve the exchange.
  var dialBeganAt: Int64?
  /// Whether the exchange needs a connection that has served no request.
  var wantsFresh = false

  // MARK: The request

  /// Whether the connection has served another request before.
  private(set) var isOnReused = false
  /// The trust verdict with which the link admitted the request.
  var verdict: TrustVerdict?
  /// Whether bytes of the request may have been sent.
  var requestSent = false
  private(set) var sentAt: Int64?
  var sentBytes: Int64 = 0
  // Unchecked because only the loop uses it, and reading from the source does not call back into the exchange.
  @exclusivity(unchecked) var upload = UploadProgress()

  // MARK: The response

  /// The HTTP version of the response; `nil` until its head has arrived.
  var version: String?
  private(set) var firstByteAt: Int64?
  /// The decoder between the connection and the receiver, if the body has a content coding.
  // Unchecked because the decoder delivers to the receiver, and is not replaced while it does.
  @exclusivity(unchecked) var decoder: BodyDecoder?
  // Unchecked because only the loop uses them, and setting them calls nothing.
  @exclusivity(unchecked) private var trailers = HTTPFields()
  /// The handling of the rest of a redirect's body.
  var rest = Rest.part
  /// Whether the response is complete but not reported yet, because the upload's source has not ended.
  private(set) var awaitsUpload = false
  /// The time until which the body of an error response is read.
  var patienceEndsAt = Int64.max

  // MARK: Time

  let startedAt: Int64
  private(set) var lastActivity: Int64
  /// The time of the engine's next scheduled look at the exchange.
  var lookDueAt = Int64.max
  // Unchecked for the same reason as the trailers.
  @exclusivity(unchecked) var deliveryWatch = DeliveryWatch()

  /// The handling of the rest of a response, once the caller may want only its head.
  enum Rest {
    /// The rest is part of the response.
    case part
    /// The rest of a redirect's body is awaited before the job is answered, at most until the given time, so that the
    /// next request finds the connection free.
    case awaited(until: Int64)
    /// The job is answered, and the rest is read so that the connection can be reused, at most until the given time.
    case drained(until: Int64)
    /// The response has opened a tunnel, which has no time limits.
    case open

    var isOpen: Bool { if case .open = self { true } else { false } }
  }

  init(_ job: EngineJob, host: HostPool) {
    self.job = job
    self.host = host
    let engine = host.engine
    receiver = ResponseReceiver(job, in: engine)
    startedAt = engine.now
    lastActivity = startedAt
  }

  /// Records the number under which the engine has registered the exchange.
  func register(as number: UInt64) {
    self.number = number
    job.exchange = number
  }

  /// The exchange's entry in the queue of its host.
  var entry: WaitingQueue.Entry {
    WaitingQueue.Entry(
      number, wantsFresh: wantsFresh, enteredAt: startedAt, dialLimit: job.request.connectTimeout)
  }

  var engine: HTTPEngine { host.engine }
  var now: Int64 { host.engine.now }
  var isRunning: Bool { runner != nil && !isOver }
  var isWaiting: Bool { runner == nil && !isOver }

  /// The connection that the exchange runs on.
  var connection: HTTPConnection? { runner?.connection }

  // MARK: Changes of state

  /// Puts the exchange into the running state, and starts its upload.
  func run(by runner: any ExchangeRunner) {
    self.runner = runner
    runner.connection.beganExchange()
    isOnReused = runner.connection.isReused
    job.upload?.start { [weak job] in job?.resumeSending() }
  }

  /// Puts the exchange back into the waiting state, as if nothing had been sent.
  func rewind() {
    runner?.detach()
    runner = nil
    upload = UploadProgress()
    receiver.isBounded = false
    firstByteAt = nil
    trailers = [:]
    dialBeganAt = nil
    isOnReused = false
  }

  /// Puts the exchange into its final state.
  func markOver() {
    isOver = true
    upload.offset = committedBodyBytes
  }

  /// Leaves the connection, which serves other exchanges if it can.
  func leaveConnection(_ failure: TransportError?) {
    let runner = runner
    self.runner = nil
    runner?.leave(failure)
  }

  // MARK: Events

  /// Records that the head of the request was sent, or may be sent from here on.
  func headGoesOut() {
    sentAt = now
    job.markSent()
  }

  /// Records activity, which restarts the idle timeout.
  func wasActive() { lastActivity = now }

  /// Records activity at a time that may be before the last known activity.
  func wasActive(at time: Int64) { lastActivity = max(lastActivity, time) }

  /// Records that bytes of the response have arrived.
  func receivedBytes() {
    lastActivity = now
    if firstByteAt == nil { firstByteAt = lastActivity }
  }

  /// Restarts the idle timeout, which did not run while the exchange waited for our own side.
  func restartIdleTimeout() {
    lastActivity = now
    engine.scheduleCheck(of: self)
  }

  /// Reports an interim response to a caller that observes them, other than 100 and 101.
  func received(interim head: ResponseHead) {
    guard let report = job.request.onInterimResponse, head.status != 100, head.status != 101 else { return }
    if let response = try? HTTPResponse(head) { report(response) }
  }

  /// Records the trailers of the response, which were checked by a machine.
  func received(trailers fields: [ResponseHead.Field]) {
    trailers = HTTPFields(fields.compactMap { try? HTTPField($0) })
  }

  // MARK: The end of the response

  /// Resumes receiving after the reader has taken the buffered bytes.
  func resumeReceiving() {
    guard isRunning, receiver.isPaused else { return }
    receiver.isPaused = false
    restartIdleTimeout()
    runner?.resumeReceiving()
  }

  /// Resumes sending after the upload's source has given more bytes or has ended.
  func resumeSending() {
    guard isRunning else { return }
    if awaitsUpload { return finish() }
    if let error = failureOfSourceAtEnd { return host.conclude(self, error) }
    guard upload.isPaused else { return }
    upload.isPaused = false
    restartIdleTimeout()
    runner?.resumeSending()
  }

  /// Finishes the exchange after its response has arrived, or as much of it as is wanted. A response that is complete
  /// before the end of the upload's source waits for that end.
  func finish() {
    if let error = failureOfSourceAtEnd { return fail(error) }
    awaitsUpload = if case .wait = supplyAtEnd { true } else { false }
    if !awaitsUpload { host.conclude(self, nil) }
  }

  /// The error with which the request fails although all announced bytes were read; `nil` if it does not fail.
  var failureOfSourceAtEnd: TransportError? {
    switch supplyAtEnd {
    case .bytes: .sourceTooLong(job.request.body.length ?? 0).afterSending
    case .failed(let error): error.afterSending
    case .end, .wait, nil: nil
    }
  }

  /// The state of the upload's source after the last announced byte; `nil` before that byte, and where the state does
  /// not matter: the outcome of an error response does not depend on the upload.
  private var supplyAtEnd: UploadChannel.Supply? {
    receiver.route.isErrorAnswer || receiver.route.wasCut ? nil : upload.supplyAtEnd(of: job)
  }

  /// Ends the exchange with an error, unless the response received so far matters more.
  func fail(_ error: TransportError) { host.conclude(self, receiver.route.weigh(error)) }

  /// Answers the job.
  ///
  /// - Parameter stream: the link as a stream, if the response ended HTTP on it.
  func report(_ failure: TransportError?, facts: TransferFacts, upgraded stream: (any ByteStream)? = nil) {
    // A failure in the rest of a redirect's body does not keep the redirect from being followed.
    let isAwaited = if case .awaited = rest { true } else { false }
    receiver.report(
      isAwaited ? nil : failure, facts: facts, sentBytes: Int64(committedBodyBytes), upgraded: stream)
  }

  /// The number of bytes of the request body that were sent, or are about to be.
  var committedBodyBytes: Int { runner?.committedBodyBytes ?? upload.offset }

  // MARK: Facts

  /// Returns the facts of the exchange so far.
  func facts() -> TransferFacts {
    let now = now
    // The link's facts are read one by one, because copying all of them costs more than the rest of this function.
    let connection = connection
    var timings = isOnReused ? TransferFacts.Timings() : connection?.facts.timings ?? TransferFacts.Timings()
    timings.requestStart = sentAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.firstByte = firstByteAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.total = .nanoseconds(max(0, now - startedAt))
    timings.queued = .nanoseconds(max(0, startedAt - job.enqueuedAt))
    // All values go into one initializer call, because each property that is set separately costs an allocation.
    var facts = TransferFacts(
      httpVersion: version, remoteAddress: connection?.facts.remoteAddress, remotePort: connection?.facts.remotePort,
      connectionID: connection?.facts.localPort.map(Int64.init), connectionReused: isOnReused, bytesSent: sentBytes,
      bytesReceived: receiver.wireBytes, resends: job.resends, trust: verdict, timings: timings,
      trailers: trailers)
    if let cut = receiver.route.cut { facts.bodyCut = cut }
    return facts
  }
}
