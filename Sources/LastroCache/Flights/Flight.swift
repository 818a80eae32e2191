// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// One transfer, and those who wait for its answer.
final class Flight: Sendable {
  /// What became of it for those who follow.
  enum Landing: Sendable {
    /// An answer in memory, for those whose requests have what its `Vary` asks for.
    case shared(SharedAnswer)
    /// A failure that is everyone's.
    case failed(TransportError)
    /// Each is to ask by itself.
    case unshared
  }

  private struct State {
    var landing: Landing?
    /// The leader among them.
    var waiting = 1
    var hadFollowers = false
    var task: Task<Void, Never>?
  }

  private let state = Watched(State())

  /// False where nothing is left to wait for.
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

  /// Carries the transfer out in a task of its own, so that it goes on for others when this one is cancelled.
  ///
  /// - Parameter operation: lands the flight.
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

  /// The task that carries the transfer out.
  private func runs(in task: Task<Void, Never>) {
    let isAbandoned = state.change { state in
      state.task = task
      return state.waiting == 0
    }
    if isAbandoned { task.cancel() }
  }

  /// One of those who wait goes. With the last one, the transfer ends.
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

/// An answer that several requests get.
struct SharedAnswer: Sendable {
  var response: TransferResponse
  /// What its request had in the fields that `Vary` names.
  var selection: String
}
