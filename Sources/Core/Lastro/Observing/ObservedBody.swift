// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import LastroSupport

/// The body of a stream whose end is reported to observers: once, and not before ``markCallSuccessful()``.
final class ObservedBody: ResponseBodySource {
  private struct State {
    /// The iterator of the body; `nil` while a read uses it.
    var iterator: ResponseBody.AsyncIterator?
    var hasFailed = false
    var bytes: Int64 = 0
    var end: FetchEvent.BodyEnd?
    var hasBegun = false
    var isTold = false
    /// Whether a normal end is reported only after the reader has judged the body.
    var awaitsVerdict = false
  }

  private let body: ResponseBody
  private let observers: [any FetchObserver]
  private let time: TimeSource
  private let callID: UInt64
  private let attempt: Int
  private let hop: Int
  private let operation: String?
  private let progress: TransferProgressReporter?
  private let state: Lock<State>

  init(
    _ body: ResponseBody, observers: [any FetchObserver], time: TimeSource, callID: UInt64, attempt: Int, hop: Int,
    operation: String?, progress: TransferProgressReporter?
  ) {
    self.body = body
    self.observers = observers
    self.time = time
    self.callID = callID
    self.attempt = attempt
    self.hop = hop
    self.operation = operation
    self.progress = progress
    state = Lock(State(iterator: body.makeAsyncIterator()))
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  /// Marks the call as successful. From this point on the body belongs to its reader.
  func markCallSuccessful() {
    state.withLock { $0.hasBegun = true }
    tell()
  }

  func next() async throws(TransportError) -> Data? {
    let (taken, hasFailed) = state.withLock { ($0.iterator.take(), $0.hasFailed) }
    if hasFailed { return nil }
    // Do not report an end: the other reader is receiving the data.
    guard var iterator = taken else { throw .twoReaders }
    do throws(TransportError) {
      let chunk = try await iterator.next()
      state.withLock { state in
        state.iterator = iterator
        state.bytes += Int64(chunk?.count ?? 0)
      }
      if chunk == nil { recordFirstEnd(nil) }
      return chunk
    } catch {
      state.withLock { $0.hasFailed = true }
      recordFirstEnd(error)
      throw error
    }
  }

  func cancel() {
    body.cancel()
    // A body that has already ended normally must not be reported as abandoned: report its end now.
    state.withLock { $0.awaitsVerdict = false }
    recordFirstEnd(.cancelled(requestSent: true))
  }

  /// Delays the report of a normal end until ``finish(failing:)`` or ``cancel()`` is called.
  func awaitVerdict() { state.withLock { $0.awaitsVerdict = true } }

  /// Ends the body with the judgement of its reader, and cancels the rest of the transfer.
  ///
  /// - Parameter error: the reason why the reader rejects the body; `nil` if the body is complete. It replaces a normal
  ///   end, but not a failure.
  func finish(failing error: TransportError?) {
    let hasEnded = state.withLock { state in
      state.awaitsVerdict = false
      if let end = state.end {
        if end.error == nil { state.end?.error = error }
        return true
      }
      // Set the end before the transfer is cancelled: otherwise a waiting read would report a cancellation.
      state.end = FetchEvent.BodyEnd(bytes: state.bytes, error: error)
      return false
    }
    if !hasEnded {
      body.cancel()
      let facts = body.finalFacts
      state.withLock { $0.end?.facts = facts }
    }
    tell()
  }

  private func recordFirstEnd(_ error: TransportError?) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.end = FetchEvent.BodyEnd(bytes: state.bytes, error: error, facts: body.finalFacts)
    }
    tell()
  }

  private func tell() {
    let end = state.withLock { state -> FetchEvent.BodyEnd? in
      guard state.hasBegun, !state.isTold, let end = state.end else { return nil }
      if end.error == nil, state.awaitsVerdict { return nil }
      state.isTold = true
      return end
    }
    guard let end else { return }
    progress?.finish()
    let event = FetchEvent(
      kind: .bodyEnded(bytes: end.bytes, error: end.error, facts: end.facts), callID: callID, attempt: attempt,
      hop: hop, operation: operation, isStream: true, time: time.now(), sinceEpoch: time.sinceEpoch())
    for observer in observers { observer.observe(event) }
  }
}

extension TransportError {
  package static var twoReaders: Self {
    refused(.invalidBody, "two tasks read one body at the same time", hint: "read it from one task")
  }
}
