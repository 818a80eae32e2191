// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Asks servers in turn: the next one 500 ms after the previous one, or immediately when one fails.
///
/// All requests are child tasks of the caller, so that none outlives the call.
struct ServerRace {
  private enum Event: Sendable {
    case ended(FamilyAnswers.Outcome)
    /// The head start of the most recently asked server has ended.
    case headStartIsOver(Int)
  }

  static let headStart = Duration.milliseconds(500)

  let count: Int
  let time: TimeSource

  /// - Parameter ask: asks the server with an index.
  /// - Returns: the first answer; if there is none, the first failure.
  func run(_ ask: @escaping @Sendable (Int) async -> FamilyAnswers.Outcome) async -> FamilyAnswers.Outcome {
    await withTaskGroup(of: Event.self) { group in
      var asked = 0, running = 0
      var failure: TransportError?
      func askNext() {
        let number = asked
        (asked, running) = (asked + 1, running + 1)
        group.addTask { .ended(await ask(number)) }
        guard asked < count else { return }
        group.addTask { [time] in
          try? await time.limit(Self.headStart)
          return .headStartIsOver(number)
        }
      }
      askNext()
      while let event = await group.next() {
        switch event {
        case .headStartIsOver(let number): if number == asked - 1, !Task.isCancelled { askNext() }
        case .ended(.failure(let error)):
          running -= 1
          failure = failure ?? error
          if asked < count, !Task.isCancelled { askNext() } else if running == 0 { group.cancelAll() }
        case .ended(.success(let answer)):
          group.cancelAll()
          return .success(answer)
        }
      }
      return .failure(failure ?? .cancelled())
    }
  }
}
