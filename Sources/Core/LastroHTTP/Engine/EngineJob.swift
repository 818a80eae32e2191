// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroWire
internal import Synchronization

/// An exchange as shared by the caller and the loop: the request, the caller that waits for the response, and the
/// buffers between them.
///
/// The caller's side awaits ``answer``, takes the answer and then reads the body. The loop's side provides the answer.
/// The caller gets the first of a response, a failure and a cancellation (``OneAnswer``).
final class EngineJob: Sendable {
  typealias Answer = Result<TransferResponse, TransportError>

  let request: TransferRequest
  /// The rule that determines where the response ends. It is stored, because reading it from the request would copy the
  /// request.
  let asks: ResponseReader.Request
  /// Whether the request is an extended CONNECT (``TransferRequest/isTunnel``).
  let isTunnel: Bool
  let sharedOptions: SharedOptions
  /// Whether `options` are the engine's own, whose partition needs no lookup.
  let usesDefaultOptions: Bool
  /// The number of open connections with which the job is done. Such a job opens a connection, and sends nothing. `nil`
  /// for a job that sends its request.
  let wantedConnections: Int?
  /// The times, on the loop's clock, at which the exchange was requested and must have ended. In nanoseconds.
  let enqueuedAt: Int64
  let expiresAt: Int64
  /// The engine that performs the exchange. The reference keeps the loop alive while the body is read.
  let port: EnginePort
  /// The upload, if the request has a body.
  let upload: UploadChannel?

  /// The number of the job's exchange in the engine.
  // Unchecked because only the loop's thread accesses it.
  nonisolated(unsafe) var exchange: UInt64 = 0

  /// The answer. Awaiting it does not return it, because it would be copied from frame to frame
  /// (``takeAnswer()``).
  let answer = OneAnswer<Answer>()
  private let cancelled = Atomic<Bool>(false)
  /// Whether bytes of the request may have been sent. The loop sets it, and the thread that cancels reads it.
  private let wasSent = Atomic<Bool>(false)
  /// The body, if it may be streamed.
  let body: BodyChannel?

  /// - Parameters:
  ///   - own: the options of the request, if they differ from the engine's.
  ///   - wantedConnections: the number of open connections with which a job that sends nothing is done.
  init(
    request: TransferRequest, asks: ResponseReader.Request, own: SharedOptions?, port: EnginePort,
    wantedConnections: Int? = nil
  ) {
    self.request = request
    self.asks = asks
    isTunnel = request.isTunnel
    sharedOptions = own ?? port.options
    usesDefaultOptions = own == nil
    self.wantedConnections = wantedConnections
    self.port = port
    let now = port.loop.now
    enqueuedAt = now
    expiresAt = request.deadline.map { now.adding($0) } ?? .max
    body = request.delivery.mayStream ? BodyChannel(capacity: port.settings.streamBufferBytes) : nil
    upload = request.hasBody ? UploadChannel(body: request.body, capacity: request.isTunnel ? 64 << 10 : 1 << 20) : nil
  }

  /// The number of resends so far. Unchecked, because only the loop's thread changes it, and another thread reads it
  /// only if the loop has ended and refused the job.
  @exclusivity(unchecked) nonisolated(unsafe) var resends = 0
  /// The number of resends after an attempt that the server reported as not processed. Unchecked, because it is used
  /// like the number above.
  @exclusivity(unchecked) nonisolated(unsafe) var refusals = 0
  /// The number of times that the request was queued again because nothing of it had been sent. Unchecked for the same
  /// reason.
  @exclusivity(unchecked) nonisolated(unsafe) var restarts = 0

  var reference: EngineReference { port.reference }
  var isHead: Bool { asks == .head }
  var options: ConnectionOptions { sharedOptions.options }

  private func post(_ command: LoopCommand) { _ = port.loop.inbox.post(command) }

  /// Tells the loop to continue receiving, because there is room for more of the body.
  func resumeReceiving() { post(.resumeReceiving(self)) }

  /// Tells the loop to continue sending, because the upload has more bytes or has ended.
  func resumeSending() { post(.resumeSending(self)) }

  /// Tells the loop to send another priority, if the exchange runs over HTTP/2.
  func setPriority(_ priority: RequestPriority) {
    _ = port.loop.inbox.perform { [self] _ in
      (reference.core?.exchanges[exchange]?.runner as? HTTP2Call)?.setPriority(priority)
    }
  }

  func markSent() { wasSent.store(true, ordering: .relaxed) }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  /// Returns the answer once it is given. A second call throws an error.
  func takeAnswer() throws(TransportError) -> TransferResponse {
    guard let answer = answer.take() else {
      throw TransportError.answerTaken
    }
    return try answer.get()
  }

  /// Cancels the job from the caller's side: answers at once, and tells the loop to end the exchange.
  func cancel() {
    guard !cancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let error = TransportError.cancelled(requestSent: wasSent.load(ordering: .relaxed))
    answer.give(.failure(error))
    body?.finish(.failure(error))
    upload?.stop()
    post(.cancel(self))
  }

  /// Ends a job that was counted and has not begun.
  func refuse(_ error: TransportError) {
    reference.load.decrement()
    finish(error, facts: nil)
  }

  /// Ends the job from the loop's side. A failure is thrown to the task that waits for the head or reads the body.
  func finish(_ failure: TransportError?, facts: TransferFacts?) {
    var failure = failure
    if resends > refusals { failure?.requestSent = true }
    if let failure { answer.give(.failure(failure)) }
    body?.finish(failure.map(Result.failure) ?? .success(()), facts: facts)
    upload?.stop()
  }
}

extension TransferRequest.Delivery {
  fileprivate var mayStream: Bool {
    if case .collected = self { false } else { true }
  }
}
