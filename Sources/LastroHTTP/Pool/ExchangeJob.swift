// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroWire

/// One request as both sides see it: the caller that waits for the answer, and what carries it.
///
/// The first of answer, failure and cancellation is what the caller gets (``OneAnswer``).
final class ExchangeJob: Sendable {
  typealias Answer = Result<TransferResponse, TransportError>

  private struct State {
    var isOver = false
    var connection: (any ExchangeConnection)?
    var resends = 0
    /// The number of resends that followed an attempt which the server said it had not processed.
    var refusals = 0
    var restarts = 0
    var wasSent = false
    var connectExpiresAt: Duration?
  }

  let request: TransferRequest
  let asks: ResponseReader.Request
  let settings: ExchangeSettings
  let enteredAt: Duration
  /// When it must have ended.
  let expiresAt: Duration?
  /// The body, where it may be streamed.
  let body: BodyChannel?
  /// The upload, where the request's body does not lie in memory.
  let upload: UploadChannel?

  private let answer = OneAnswer<Answer>()
  private let state = Lock(State())
  private let alarm: Lock<Alarm?> = Lock(nil)
  private let ended: Lock<(@Sendable () -> Void)?> = Lock(nil)

  init(_ request: TransferRequest, asking: ResponseReader.Request, settings: ExchangeSettings) {
    self.request = request
    self.settings = settings
    asks = asking
    enteredAt = settings.time.now()
    expiresAt = request.deadline.map { [enteredAt] in enteredAt + max($0, .zero).countable }
    if case .collected = request.delivery {
      body = nil
    } else {
      body = BodyChannel(capacity: settings.streamBufferBytes)
    }
    upload = request.body.isEmpty ? nil : UploadChannel(body: request.body)
  }

  // MARK: How it stands

  var isOver: Bool { state.withLock { $0.isOver } }
  var resends: Int { state.withLock { $0.resends } }
  /// Whether it goes out once more. What closed one idle connection may be about to close the others.
  var wantsFresh: Bool { resends > 0 }
  var wasSent: Bool { state.withLock { $0.wasSent } }
  var connectExpiresAt: Duration? { state.withLock { $0.connectExpiresAt } }

  /// Counts a resend.
  ///
  /// - Parameter isUnprocessed: whether the server said that it had not processed the attempt before.
  func noteResend(isUnprocessed: Bool = false) {
    state.withLock { state in
      state.resends += 1
      if isUnprocessed { state.refusals += 1 }
    }
  }

  func noteSent() { state.withLock { $0.wasSent = true } }

  /// Counts a restart, and tells their number.
  func noteRestart() -> Int {
    state.withLock { state in
      state.restarts += 1
      return state.restarts
    }
  }

  /// The limit of the wait for a connection runs from here on, unless it runs already.
  func noteDial() {
    guard let limit = request.connectTimeout else { return }
    let end = settings.time.now() + limit.countable + .milliseconds(50)
    let isFirst = state.withLock { state in
      guard state.connectExpiresAt == nil else { return false }
      state.connectExpiresAt = end
      return true
    }
    if isFirst { set(end) }
  }

  /// It is on a connection from here on. False: it is over.
  func attach(_ connection: any ExchangeConnection) -> Bool {
    state.withLock { state in
      if state.isOver { return false }
      state.connection = connection
      return true
    }
  }

  /// It waits again.
  func detach() {
    state.withLock { state in
      state.connection = nil
      state.connectExpiresAt = nil
    }
  }

  // MARK: Time

  /// Calls `check` when something is due; it gives the next time. Calls `ended` when it is over.
  func watch(
    _ check: @escaping @Sendable (Duration) -> Duration?, ended: (@Sendable () -> Void)? = nil
  ) {
    self.ended.withLock { $0 = ended }
    let new = Alarm(settings.time, fire: check)
    alarm.withLock { $0 = new }
    new.set(expiresAt, in: request.deadline)
    if isOver { new.cancel() }
  }

  func set(_ due: Duration?) { alarm.withLock { $0 }?.set(due) }

  // MARK: Answers

  /// The answer, once it is there. To be called once.
  func value() async -> Answer { await answer.value() }

  /// Answers, unless it is answered. False: the caller has given up.
  @discardableResult
  func give(_ response: TransferResponse) -> Bool { answer.offer(.success(response)) }

  /// The end, from the side of what carries it. A failure reaches the task that waits: for the head, or for the body.
  func finish(_ failure: TransportError?, facts: TransferFacts?) {
    let mayHaveArrived = state.withLock { state in
      state.isOver = true
      state.connection = nil
      return state.resends > state.refusals
    }
    alarm.withLock { $0 }?.cancel()
    var failure = failure
    if mayHaveArrived { failure?.requestSent = true }
    ended.withLock { $0.take() }?()
    if let failure { answer.give(.failure(failure)) }
    body?.finish(failure.map(Result.failure) ?? .success(()), facts: facts)
    upload?.stop()
  }

  /// The end, from the caller's side, or that of a limit: answers at once, and tells what carries it.
  func abandon(_ error: TransportError) {
    let connection: (any ExchangeConnection)? = state.withLock { state in
      if state.isOver { return nil }
      state.isOver = true
      defer { state.connection = nil }
      return state.connection
    }
    finish(error, facts: nil)
    connection?.drop(self)
  }

  /// The caller wants no more of the body.
  func readerLeft() {
    let connection = state.withLock { $0.connection }
    let error = TransportError.cancelled(requestSent: true)
    body?.finish(.failure(error))
    if let connection { connection.readerLeft(self) } else { abandon(error) }
  }

  func resumeReceiving() { state.withLock { $0.connection }?.resumeReceiving(self) }

  func resumeSending() { state.withLock { $0.connection }?.resumeSending(self) }

  func check(_ now: Duration) -> Duration? {
    guard let connection = state.withLock({ $0.connection }) else { return checkWaiting(now) }
    return connection.check(self, now: now)
  }

  /// While it waits for a connection.
  private func checkWaiting(_ now: Duration) -> Duration? {
    if isOver { return nil }
    let connectEnd = connectExpiresAt
    if let expiresAt, now >= expiresAt {
      abandon(connectEnd == nil ? .expiredInQueue(request) : .late(isIdle: false, .unsent, of: request))
      return nil
    }
    if let connectEnd, now >= connectEnd {
      abandon(.connectTimedOut(request))
      return nil
    }
    return [expiresAt, connectEnd].compactMap(\.self).min()
  }
}

/// What carries jobs: a connection of HTTP/1.1 or HTTP/2.
protocol ExchangeConnection: AnyObject, Sendable {
  /// Begins a job, if it may go out here.
  func begin(_ job: ExchangeJob) -> ExchangeBeginning
  /// A job is answered: what is left of it is not wanted.
  func drop(_ job: ExchangeJob)
  /// The body of a job is not wanted any more.
  func readerLeft(_ job: ExchangeJob)
  /// There is room for the body again.
  func resumeReceiving(_ job: ExchangeJob)
  /// The source of the upload has more, or has ended.
  func resumeSending(_ job: ExchangeJob)
  /// Looks at the limits of a job; gives the time of the next look.
  func check(_ job: ExchangeJob, now: Duration) -> Duration?
  func close()
}

enum ExchangeBeginning {
  case begun
  /// The job is over.
  case over
  /// It may carry no more jobs. Nothing was sent.
  case unfit
  /// The job fails. The connection may carry another.
  case refused(TransportError)
}

extension ExchangeJob: BodyBringer {
  func readerCancelled() { abandon(.cancelled(requestSent: true)) }
}
