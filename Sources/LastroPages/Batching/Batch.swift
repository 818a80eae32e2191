// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Keys that are loaded together, and who waits for them.
final class Batch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Answer = OneAnswer<Result<Value, any Error>>

  private struct State {
    var keys: [Key] = []
    var answers: [Key: [Answer]] = [:]
    var waiting = 0
    var hasBegun = false
    var task: Task<Void, Never>?
  }

  private let state = Lock(State())

  var waiting: Int { state.withLock { $0.waiting } }

  /// Adds a key.
  ///
  /// - Returns: how many keys there are.
  func add(_ key: Key, _ answer: Answer) -> Int {
    state.withLock { state in
      if state.answers[key] == nil { state.keys.append(key) }
      state.answers[key, default: []].append(answer)
      state.waiting += 1
      return state.keys.count
    }
  }

  /// The keys to load; `nil` where that was begun, or none waits any more.
  func begin() -> [Key]? {
    state.withLock { state in
      guard !state.hasBegun else { return nil }
      state.hasBegun = true
      return state.waiting > 0 ? state.keys : nil
    }
  }

  /// Keeps what works for it, to cancel it when none waits.
  func keep(_ task: Task<Void, Never>) {
    let isLeft = state.withLock { state in
      state.task = task
      return state.hasBegun && state.waiting == 0
    }
    if isLeft { task.cancel() }
  }

  /// One who waited was cancelled.
  func leave() {
    let task = state.withLock { state in
      state.waiting -= 1
      return state.waiting == 0 && state.hasBegun ? state.task : nil
    }
    task?.cancel()
  }

  func end(with result: Result<[Key: Value], any Error>) {
    let answers = state.withLock { $0.answers }
    for (key, waiting) in answers {
      let answer: Result<Value, any Error> = result.flatMap { values in
        values[key].map { .success($0) }
          ?? .failure(BatchKeyMissing(description: "the load has no value for a key of type \(Key.self)"))
      }
      for one in waiting { one.give(answer) }
    }
  }
}
