// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// A streamed body whose bytes are kept while they are read, up to a limit, and reported once at the end.
final class RecordedBody: ResponseBodySource {
  /// Receives the kept bytes, the number of bytes read, whether they are the whole body, and the facts of the transfer.
  typealias Completion = @Sendable (Data, Int64, Bool, TransferFacts?) throws(TransportError) -> Void

  private struct State {
    /// The iterator of the body; `nil` while a read uses it.
    var iterator: ResponseBody.AsyncIterator?
    var kept = Data()
    var count: Int64 = 0
    var hasFailed = false
    var isReported = false
  }

  private let body: ResponseBody
  private let limit: Int
  private let complete: Completion
  private let abandoned: @Sendable (TransportError) -> Void
  private let state: Lock<State>

  /// - Parameter abandoned: receives the error of `complete` if no reader is left that it could be thrown to.
  init(
    _ body: ResponseBody, limit: Int, complete: @escaping Completion,
    abandoned: @escaping @Sendable (TransportError) -> Void
  ) {
    self.body = body
    self.limit = limit
    self.complete = complete
    self.abandoned = abandoned
    state = Lock(State(iterator: body.makeAsyncIterator()))
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  func next() async throws(TransportError) -> Data? {
    let (taken, hasFailed) = state.withLock { ($0.iterator.take(), $0.hasFailed) }
    if hasFailed { return nil }
    guard var iterator = taken else { throw .twoReaders }
    let chunk: Data?
    do throws(TransportError) {
      chunk = try await iterator.next()
    } catch {
      // A reader that was cancelled has abandoned the body. Otherwise the response is not complete.
      state.withLock { $0.hasFailed = true }
      if error.stage == .cancelled { reportAbandoned() }
      throw error
    }
    state.withLock { state in
      state.iterator = iterator
      guard let chunk else { return }
      state.count += Int64(chunk.count)
      state.kept.append(chunk.prefix(limit - state.kept.count))
    }
    if chunk == nil { try report(isWhole: true) }
    return chunk
  }

  func cancel() {
    if !state.withLock({ $0.hasFailed }) { reportAbandoned() }
    body.cancel()
  }

  private func reportAbandoned() {
    do throws(TransportError) { try report(isWhole: false) } catch { abandoned(error) }
  }

  private func report(isWhole: Bool) throws(TransportError) {
    let ended = state.withLock { state -> (Data, Int64)? in
      guard !state.isReported else { return nil }
      state.isReported = true
      return (state.kept, state.count)
    }
    if let (bytes, count) = ended { try complete(bytes, count, isWhole, body.finalFacts) }
  }
}
