// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// A transfer, and the requests that wait for its response.
final class Flight: Sendable {
  /// The result of a flight for its followers.
  enum Landing: Sendable {
    /// A response in memory, for followers whose requests match its `Vary` fields.
    case shared(SharedAnswer)
    /// A failure that applies to every follower.
    case failed(TransportError)
    /// No shared result: each follower sends its own request.
    case unshared
  }

  private struct State {
    var landing: Landing?
    /// The number of waiting requests, including the leader.
    var waiting = 1
    var hadFollowers = false
    var task: Task<Void, Never>?
  }

  private let state = Watched(State())

  /// Joins as a follower. Returns false if the flight has landed or was abandoned.
  func join() -> Bool {
    state.change { state in
      guard state.waiting > 0, state.landing == nil else { return false }
      state.waiting += 1
      state.hadFollowers = true
      return true
    }
  }

  var waiting: Int { state.read { $0.waiting } }

  var hasFollowers: Bool { state.read { $0.hadFollowers } }

  /// Runs the transfer in its own task, so that it continues for the followers if the leader is cancelled.
  ///
  /// - Parameter operation: performs the transfer and lands the flight.
  func lead(
    _ operation: @escaping @Sendable () async -> Result<TransferResponse, TransportError>
  ) async throws(TransportError) -> TransferResponse {
    let answer = OneAnswer<Result<TransferResponse, TransportError>>()
    runs(in: Task { answer.give(await operation()) })
    return try await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      leave()
      answer.give(.failure(.cancelled(requestSent: true)))
    }.get()
  }

  /// Records the task that runs the transfer, and cancels it if every request has left already.
  private func runs(in task: Task<Void, Never>) {
    let isAbandoned = state.change { state in
      state.task = task
      return state.waiting == 0
    }
    if isAbandoned { task.cancel() }
  }

  /// Leaves the flight. The transfer is cancelled when the last waiting request leaves.
  func leave() {
    let task = state.change { state in
      state.waiting -= 1
      return state.waiting == 0 && state.landing == nil ? state.task : nil
    }
    task?.cancel()
  }

  func land(_ landing: Landing) { state.change { $0.landing = $0.landing ?? landing } }

  /// Waits for the landing.
  func landing(within limit: Duration?, _ time: TimeSource) async -> Result<Landing, Interruption> {
    let outcome = await state.wait(within: limit, time: time) { $0.landing != nil }
    if let landing = state.read({ $0.landing }) { return .success(landing) }
    return outcome.map { .unshared }
  }
}

/// A response that several requests share.
struct SharedAnswer: Sendable {
  var response: TransferResponse
  /// The leader's values of the request fields that `Vary` names.
  var selection: String
}
