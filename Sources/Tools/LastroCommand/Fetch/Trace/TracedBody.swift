// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// The beginning of a body that passes by, which is written to a trace when the body ends. A secret could be divided
/// between two pieces, so they are not written one by one.
final class TracedBody: Sendable {
  private struct State {
    var beginning: [UInt8] = []
    var count: Int64 = 0
    var isOver = false
  }

  private let state = Lock(State())
  private let direction: TraceText.Direction
  private let redaction: Redaction
  private let log: TraceLog

  init(_ direction: TraceText.Direction, _ redaction: Redaction, _ log: TraceLog) {
    (self.direction, self.redaction, self.log) = (direction, redaction, log)
  }

  deinit { writeToTrace(isCut: true) }

  func add(_ piece: Data) {
    state.withLock { state in
      state.count += Int64(piece.count)
      state.beginning += piece.prefix(TraceText.maximumBody - state.beginning.count)
    }
  }

  /// Writes the body. Later calls have no effect.
  ///
  /// - Parameter isCut: whether more of the body may follow, so that it may end with a part of a secret.
  func writeToTrace(isCut: Bool) {
    let ended = state.withLock { state -> State? in
      guard !state.isOver else { return nil }
      state.isOver = true
      return state
    }
    guard let ended, ended.count > 0 else { return }
    log.write(log.text.body(direction, ended.beginning, count: ended.count, isCut: isCut, redaction))
  }
}

/// A response's body that is written to a trace when it ends.
final class TracedResponseBody: ResponseBodySource {
  private let body: ResponseBody
  private let traced: TracedBody
  private let redaction: Redaction
  private let log: TraceLog

  init(_ body: ResponseBody, _ redaction: Redaction, _ log: TraceLog) {
    self.body = body
    self.redaction = redaction
    self.log = log
    traced = TracedBody(.received, redaction, log)
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  func next() async throws(TransportError) -> Data? {
    do throws(TransportError) {
      var iterator = body.makeAsyncIterator()
      let piece = try await iterator.next()
      if let piece { traced.add(piece) } else { traced.writeToTrace(isCut: false) }
      return piece
    } catch {
      traced.writeToTrace(isCut: true)
      log.write(log.text.info(redaction.text("\(error)")))
      throw error
    }
  }

  func cancel() {
    traced.writeToTrace(isCut: true)
    body.cancel()
  }
}
