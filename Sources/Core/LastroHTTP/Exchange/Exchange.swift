// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// A job of an engine, whichever version of HTTP carries it: it waits for a connection, and then runs on one.
///
/// It knows the request's progress, its limits and the facts. Its ``ResponseReceiver`` has the response, and its
/// ``ExchangeRunner`` speaks for it on the connection.
///
/// Owner: ``HTTPEngine``. Thread: the loop's; it is not `Sendable`, so the compiler keeps it there.
final class Exchange {
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

  /// Its number in the engine.
  private(set) var number: UInt64 = 0
  let job: EngineJob
  let host: HostPool
  // Unchecked because the loop has it alone, and delivering a body calls nothing that comes back here.
  @exclusivity(unchecked) var receiver: ResponseReceiver
  private(set) var state = State.waiting
  /// `nil` while it waits, and once it is over.
  private(set) var runner: (any ExchangeRunner)?

  // MARK: Waiting

  /// The time at which the dial began that it waits for; `nil` while it waits for another request's end.
  var dialBeganAt: Int64?
  /// Whether it waits for a connection that has served no request.
  var wantsFresh = false

  // MARK: The request

  /// Whether its connection served another request before.
  private(set) var isOnReused = false
  private(set) var verdict: TrustVerdict?
  /// Whether request bytes may have left.
  private(set) var requestSent = false
  private(set) var sentAt: Int64?
  var sentBytes: Int64 = 0
  /// Bytes of the request's body that were handed to the engine.
  var uploadOffset = 0
  /// Whether the source of the body has nothing at the moment.
  var sendingPaused = false

  // MARK: The response

  /// The version of HTTP that the response names.
  var version: String?
  private(set) var firstByteAt: Int64?
  /// Decodes the body on its way to the receiver, if it has a content coding.
  // Unchecked because the decoder delivers to the receiver, and is not replaced meanwhile.
  @exclusivity(unchecked) var decoder: BodyDecoder?
  // Unchecked because the loop has it alone, and setting it calls nothing.
  @exclusivity(unchecked) private var trailers = HTTPFields()
  /// The treatment of the rest of a redirect's body.
  private(set) var rest = Rest.part
  /// Whether the response is complete, and only the end of the upload's source is waited for.
  private var isDelivered = false
  /// Until then the body of a refusal is read.
  var patienceEndsAt = Int64.max

  // MARK: Time

  let startedAt: Int64
  private(set) var lastActivity: Int64
  /// The time at which the engine looks at it next, as it knows.
  var lookDueAt = Int64.max
  // Unchecked for the same reason.
  @exclusivity(unchecked) var deliveryWatch = DeliveryWatch()

  /// The rest of a response whose head is all that the caller wants.
  enum Rest {
    /// It belongs to the response.
    case part
    /// A redirect waits for it, at most until then, so that the next request finds the connection free.
    case awaited(until: Int64)
    /// The job is answered, and the rest is read for the connection's sake, at most until then.
    case drained(until: Int64)
  }

  init(_ job: EngineJob, host: HostPool) {
    self.job = job
    self.host = host
    let engine = host.engine
    receiver = ResponseReceiver(job, in: engine)
    startedAt = engine.now
    lastActivity = startedAt
  }

  /// Belongs to the engine from here on.
  func register(as number: UInt64) {
    self.number = number
    job.exchange = number
  }

  /// The exchange as its host's machine knows it.
  var entry: WaitingQueue.Entry {
    WaitingQueue.Entry(
      number, wantsFresh: wantsFresh, enteredAt: startedAt, dialLimit: job.request.connectTimeout)
  }

  var engine: HTTPEngine { host.engine }
  var now: Int64 { host.engine.now }
  var isRunning: Bool { state == .running }

  /// The connection that it runs on.
  var connection: HTTPConnection? { runner?.connection }

  // MARK: Changes of state

  /// Runs from here on.
  func run(by runner: any ExchangeRunner, isOnReused: Bool) {
    state = .running
    self.runner = runner
    self.isOnReused = isOnReused
    job.upload?.start { [weak job] in job?.resumeSending() }
  }

  /// Waits for another connection, as if nothing had been sent.
  func rewind() {
    state = .waiting
    runner?.detach()
    runner = nil
    uploadOffset = 0
    sendingPaused = false
    receiver.isBounded = false
    firstByteAt = nil
    trailers = [:]
    dialBeganAt = nil
  }

  /// It is over; it may still have its connection.
  func noteOver() {
    state = .over
    uploadOffset = handedOver
  }

  /// Leaves its connection, which serves others where it can.
  func leaveConnection(_ failure: TransportError?) {
    let runner = runner
    self.runner = nil
    runner?.leave(failure)
  }

  // MARK: What happens to it

  /// The link admits its bytes.
  func wasAdmitted(_ verdict: TrustVerdict) { self.verdict = verdict }

  /// The head of the request goes out, or may from here on.
  func headWasSent() {
    sentAt = now
    job.noteSent()
  }

  /// Bytes of the request have left.
  func requestBytesLeft() { requestSent = true }

  /// The server has processed nothing of the request.
  func nothingWasProcessed() { requestSent = false }

  /// Something moved.
  func wasActive() { lastActivity = now }

  /// Something moved at a time that may lie before what is known.
  func wasActive(at time: Int64) { lastActivity = max(lastActivity, time) }

  /// Bytes of the response came.
  func receivedBytes() {
    lastActivity = now
    if firstByteAt == nil { firstByteAt = lastActivity }
  }

  /// It moves again: while it waited for us, its idle limit did not run.
  func goesOn() {
    lastActivity = now
    engine.noteExpiry(of: self)
  }

  func received(interim head: ResponseHead) { job.request.interimTelling(head)?() }

  func received(trailers fields: [ResponseHead.Field]) { trailers = HTTPFields(trailers: fields) }

  // MARK: The end of its response

  /// The reader has taken what lay there.
  func resumeReceiving() {
    guard isRunning, receiver.isPaused else { return }
    receiver.isPaused = false
    goesOn()
    runner?.resumeReceiving()
  }

  /// The source of the upload has more, or has ended.
  func resumeSending() {
    guard isRunning else { return }
    if isDelivered { return finish() }
    if let error = failureOfSourceAtEnd { return host.conclude(self, error) }
    guard sendingPaused else { return }
    sendingPaused = false
    goesOn()
    runner?.resumeSending()
  }

  /// The response has come whole, or as far as it is wanted.
  func finish() {
    if let error = failureOfSourceAtEnd { return fail(error) }
    isDelivered = !receiver.wasCut && awaitsSourceEnd
    if !isDelivered { host.conclude(self, nil) }
  }

  /// Whether the response has come whole, and is not reported yet.
  var awaitsUpload: Bool { isDelivered }

  /// Ends with an error, unless what there is of the response matters more.
  func fail(_ error: TransportError) { host.conclude(self, receiver.weigh(error)) }

  /// No more of the response is read: it ends with what there is, or with the reason.
  func stopReading() {
    if receiver.wasCut { finish() } else { fail(receiver.failure ?? .noMemoryForBody) }
  }

  /// Changes what is done with the rest of a redirect's body.
  func treatRest(as rest: Rest) { self.rest = rest }

  /// Answers the job.
  ///
  /// - Parameter stream: the link as a stream, where the response ended HTTP on it.
  func report(_ failure: TransportError?, facts: TransferFacts, upgraded stream: (any ByteStream)? = nil) {
    // A redirect that only waited for the rest of its body is followed all the same.
    var isAwaited = false
    if case .awaited = rest { isAwaited = true }
    receiver.report(
      isAwaited ? nil : failure, facts: facts, sentBytes: Int64(handedOver), upgraded: stream)
  }

  /// The bytes of the request's body that were sent, or are about to be.
  var handedOver: Int { runner?.handedOver ?? uploadOffset }

  // MARK: What is known

  /// Returns the facts of the exchange so far.
  func facts() -> TransferFacts {
    let now = now
    // The link's facts are read one by one, because a copy of all costs more than the rest of this function.
    let connection = connection
    var timings = isOnReused ? TransferFacts.Timings() : connection?.facts.timings ?? TransferFacts.Timings()
    timings.requestStart = sentAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.firstByte = firstByteAt.map { .nanoseconds(max(1, $0 - startedAt)) }
    timings.total = .nanoseconds(max(0, now - startedAt))
    timings.queued = .nanoseconds(max(0, startedAt - job.enqueuedAt))
    // In one initializer: each property that is set separately costs an allocation.
    return TransferFacts(
      httpVersion: version, remoteAddress: connection?.facts.remoteAddress, remotePort: connection?.facts.remotePort,
      connectionID: connection?.facts.localPort.map(Int64.init), connectionReused: isOnReused, bytesSent: sentBytes,
      bytesReceived: receiver.wireBytes, resends: job.resends, trust: verdict, timings: timings,
      bodyCut: receiver.bodyCut, trailers: trailers)
  }
}
