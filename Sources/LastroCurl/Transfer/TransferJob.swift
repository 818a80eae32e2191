// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One transfer as both sides see it: what is asked, who waits for the answer, and the buffers between them.
///
/// The caller's side awaits ``response()`` and then reads the body; the loop's side answers. Whoever comes first in a
/// race (answer, failure, cancellation) wins under the lock; the answer is given exactly once.
final class TransferJob: Sendable {
  typealias Answer = Result<TransferResponse, TransportError>

  let request: TransferRequest
  let options: ConnectionOptions
  /// Whether `options` are the stack's own, whose partition needs no look-up.
  let usesDefaultOptions: Bool
  /// Monotonic nanoseconds at which the transfer was asked for, and must have ended.
  let enqueuedAt: Int64
  let expiresAt: Int64
  /// Whether only the connection is wanted, with the chain that the server shows; nothing is sent.
  let isInspection: Bool
  /// What an inspection found.
  let inspected = Lock<ServerTrust?>(nil)
  /// The loop to talk to. Holding it keeps the loop alive while the body is read.
  let loop: EventLoop
  /// The upload, when the request's body does not lie in memory.
  let upload: UploadChannel?

  private enum Phase {
    case idle
    case waiting(CheckedContinuation<Answer, Never>)
    /// Answered before anybody waited.
    case answeredEarly(Answer)
    case answered
  }

  private struct State {
    var phase = Phase.idle
    var isCancelled = false
  }

  private let state = Lock(State())
  /// Whether request bytes may have left; set by the loop, read by whoever cancels.
  private let wasSent = Atomic<Bool>(false)
  /// The streamed body.
  let body: BodyChannel

  init(
    request: TransferRequest, options: ConnectionOptions, usesDefaultOptions: Bool, loop: EventLoop,
    streamBufferBytes: Int, isInspection: Bool = false
  ) {
    self.isInspection = isInspection
    self.request = request
    self.options = options
    self.usesDefaultOptions = usesDefaultOptions
    self.loop = loop
    let now = monotonicNow()
    enqueuedAt = now
    expiresAt = request.deadline.map { now &+ min($0.nanoseconds, .max - now) } ?? .max
    body = BodyChannel(capacity: streamBufferBytes)
    upload = UploadChannel(body: request.body)
  }

  private let restarts = Atomic<Int>(0)

  /// Counts a restart, and tells their number.
  func noteRestart() -> Int { restarts.add(1, ordering: .relaxed).newValue }

  func noteSent() { wasSent.store(true, ordering: .relaxed) }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Suspends until the transfer is answered.
  func response() async -> Answer {
    await withCheckedContinuation { continuation in
      let early: Answer? = state.withLock { state in
        if case .answeredEarly(let answer) = state.phase {
          state.phase = .answered
          return answer
        }
        state.phase = .waiting(continuation)
        return nil
      }
      if let early { continuation.resume(returning: early) }
    }
  }

  /// Answers, unless somebody did before. Returns whether this was the answer.
  @discardableResult
  func answer(_ answer: Answer) -> Bool {
    enum Effect { case resume(CheckedContinuation<Answer, Never>), stored, tooLate }
    let effect: Effect = state.withLock { state in
      switch state.phase {
      case .idle:
        state.phase = .answeredEarly(answer)
        return .stored
      case .waiting(let continuation):
        state.phase = .answered
        return .resume(continuation)
      case .answeredEarly, .answered:
        return .tooLate
      }
    }
    switch effect {
    case .resume(let continuation):
      continuation.resume(returning: answer)
      return true
    case .stored: return true
    case .tooLate: return false
    }
  }

  /// Cancels from the caller's side: answers at once and tells the loop to let go.
  func cancel() {
    let isFirst = state.withLock { state in
      defer { state.isCancelled = true }
      return !state.isCancelled
    }
    guard isFirst else { return }
    let error = TransportError.cancelled(requestSent: wasSent.load(ordering: .relaxed))
    answer(.failure(error))
    body.finish(.failure(error))
    upload?.stop()
    _ = loop.post(.cancel(self))
  }

  /// The end, from the loop's side. A failure reaches whoever waits: for the head, or for the body.
  func finish(_ failure: TransportError?, facts: TransferFacts?) {
    if let failure { answer(.failure(failure)) }
    body.finish(failure.map(Result.failure) ?? .success(()), facts: facts)
    upload?.stop()
  }
}

/// The reader's end of a streamed body.
final class StreamedBody: ResponseBodySource {
  private let job: TransferJob

  init(_ job: TransferJob) { self.job = job }

  var finalFacts: TransferFacts? { job.body.finalFacts }

  func next() async throws(TransportError) -> Data? {
    let result = await withTaskCancellationHandler {
      await job.body.take { [job] in _ = job.loop.post(.resumeReceiving(job)) }
    } onCancel: { [job] in
      job.cancel()
    }
    return try result.get()
  }

  func cancel() {
    guard !job.body.isFinished else { return }
    job.cancel()
  }
}
