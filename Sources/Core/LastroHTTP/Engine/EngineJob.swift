// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroWire
internal import Synchronization

/// An exchange as both sides see it: the request, the caller that waits for the response, and the buffers between
/// them.
///
/// The caller's side awaits ``wait()``, takes the answer and then reads the body; the loop's side answers. The first of
/// answer, failure and cancellation is what the caller gets (``OneAnswer``).
final class EngineJob: Sendable {
  typealias Answer = Result<TransferResponse, TransportError>

  let request: TransferRequest
  /// The rule by which the response ends; the request would be copied to be asked.
  let asks: ResponseReader.Request
  private let shared: SharedOptions
  /// Whether `options` are the stack's own, whose partition needs no look-up.
  let usesDefaultOptions: Bool
  /// The loop's nanoseconds at which the exchange was asked for, and must have ended.
  let enqueuedAt: Int64
  let expiresAt: Int64
  /// The engine to talk to. Holding it keeps the loop alive while the body is read.
  let port: EnginePort
  /// The upload, when the request's body does not lie in memory.
  let upload: UploadChannel?

  /// The number of its exchange in the engine.
  // Unchecked because only the loop's thread touches it.
  nonisolated(unsafe) var exchange: UInt64 = 0

  private let answer = OneAnswer<Answer>()
  private let cancelled = Atomic<Bool>(false)
  /// Whether request bytes may have left; set by the loop, read by the thread that cancels.
  private let wasSent = Atomic<Bool>(false)
  /// The body, where it may be streamed.
  let body: BodyChannel?

  init(
    request: TransferRequest, asks: ResponseReader.Request, options: SharedOptions, usesDefaultOptions: Bool,
    port: EnginePort
  ) {
    self.request = request
    self.asks = asks
    shared = options
    self.usesDefaultOptions = usesDefaultOptions
    self.port = port
    let now = port.loop.now
    enqueuedAt = now
    expiresAt = request.deadline.map { now.adding($0) } ?? .max
    body = request.delivery.mayStream ? BodyChannel(capacity: port.settings.messages.streamBufferBytes) : nil
    upload = request.hasBody ? UploadChannel(body: request.body) : nil
  }

  private let sentAgain = Atomic<Int>(0)
  /// The number of resends so far; set by the loop.
  var resends: Int {
    get { sentAgain.load(ordering: .relaxed) }
    set { sentAgain.store(newValue, ordering: .relaxed) }
  }

  private let refused = Atomic<Int>(0)
  /// The number of resends that followed an attempt the server reported as not processed; set by the loop.
  var refusals: Int {
    get { refused.load(ordering: .relaxed) }
    set { refused.store(newValue, ordering: .relaxed) }
  }

  private let restarts = Atomic<Int>(0)

  /// Counts a restart, and tells their number.
  func noteRestart() -> Int { restarts.add(1, ordering: .relaxed).newValue }

  var engine: EngineReference { port.engine }
  var isHead: Bool { asks == .head }
  var options: ConnectionOptions { shared.options }
  var sharedOptions: SharedOptions { shared }

  private func post(_ command: LoopCommand) { _ = port.loop.post(command) }

  /// Has the loop receive on: there is room for the body again.
  func resumeReceiving() { post(.resumeReceiving(self)) }

  /// Has the loop send on: the upload has more, or has ended.
  func resumeSending() { post(.resumeSending(self)) }

  func noteSent() { wasSent.store(true, ordering: .relaxed) }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Suspends until the job is answered. The answer does not come this way: it would be copied from frame to
  /// frame.
  func wait() async { await answer.wait() }

  /// Whether the answer can be taken, or was.
  var isAnswered: Bool { answer.isGiven }

  /// The answer, once, after ``wait()``.
  func takeAnswer() throws(TransportError) -> TransferResponse {
    guard let answer = answer.take() else {
      throw TransportError.answerTaken
    }
    return try answer.get()
  }

  /// Answers, unless it is answered.
  func answer(_ answer: consuming Answer) { self.answer.give(answer) }

  /// Answers, unless it is answered, and leaves it to the caller to wake the task that waits.
  func settle(_ answer: consuming Answer) -> (isFirst: Bool, waiter: OneAnswer<Answer>.Waiter?) {
    self.answer.settle(answer)
  }

  /// Cancels from the caller's side: answers at once and tells the loop to let go.
  func cancel() {
    guard !cancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let error = TransportError.cancelled(requestSent: wasSent.load(ordering: .relaxed))
    answer(.failure(error))
    body?.finish(.failure(error))
    upload?.stop()
    post(.cancel(self))
  }

  /// The end, from the loop's side. A failure reaches the task that waits: for the head, or for the body.
  func finish(_ failure: TransportError?, facts: TransferFacts?) {
    var failure = failure
    if resends > refusals { failure?.requestSent = true }
    if let failure { answer(.failure(failure)) }
    body?.finish(failure.map(Result.failure) ?? .success(()), facts: facts)
    upload?.stop()
  }
}

extension TransferRequest.Delivery {
  fileprivate var mayStream: Bool {
    if case .collected = self { false } else { true }
  }
}
