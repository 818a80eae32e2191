// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting

/// Passes a response from a task to the thread of a connection, one piece at a time, so that a slow client slows down the
/// transfer.
final class ProxyRelay: Sendable {
  enum Piece: Sendable {
    case head(HTTPResponse)
    case chunk(Data)
    case end
  }

  private struct State {
    var piece: Piece?
    var failure: String?
    /// Resumes the task when its piece is taken. The value says whether the client wants more.
    var taken: OneAnswer<Bool>?
    var isAbandoned = false
  }

  private let state = Lock(State())
  private let arrived = DispatchSemaphore(value: 0)

  /// The reason why there is no response, or not all of it.
  var failure: String? { state.withLock { $0.failure } }

  // MARK: on the task

  /// Performs an exchange, and passes its response on.
  func run(_ request: ResourceRequest, _ stack: TransportNetworkStack) async {
    do {
      let answer = try await stack.exchange(request, streamed: true)
      let head = HTTPResponse(status: answer.response.status, headerFields: answer.response.headerFields)
      guard await pass(.head(head)) else { return }
      for try await chunk in answer.value {
        guard await pass(.chunk(chunk)) else { return }
      }
      _ = await pass(.end)
    } catch {
      let text = "\(error)".onOneLine
      // A client that has gone, and the end of the program, are no failures of the API.
      if !Task.isCancelled, !text.hasPrefix("cancelled/") { Console.error("lastro: \(text)") }
      state.withLock { $0.failure = text }
      arrived.signal()
    }
  }

  private func pass(_ piece: Piece) async -> Bool {
    let taken = OneAnswer<Bool>()
    let isAbandoned = state.withLock { state in
      (state.piece, state.taken) = (piece, taken)
      return state.isAbandoned
    }
    if isAbandoned { return false }
    arrived.signal()
    return await taken.value()
  }

  // MARK: on the thread

  /// Waits for the next piece; `nil` after a failure, and if the client has left.
  func next(for client: LoopbackConnection) -> Piece? {
    // The piece before it has been written.
    state.withLock { $0.taken.take() }?.give(true)
    while arrived.wait(timeout: .now() + .seconds(1)) == .timedOut {
      if client.hasPeerLeft { return nil }
    }
    return state.withLock { $0.piece.take() }
  }

  /// Ends the task at its next piece.
  func abandon() {
    let taken = state.withLock { state in
      state.isAbandoned = true
      return state.taken.take()
    }
    taken?.give(false)
  }
}
