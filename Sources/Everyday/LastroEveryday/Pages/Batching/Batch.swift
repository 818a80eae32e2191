// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The keys to load together, and the callers that wait for them.
final class Batch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Answer = OneAnswer<Result<Value, any Error>>

  private struct State {
    var keys: [Key] = []
    var answers: [Key: [Answer]] = [:]
    var waiting = 0
    /// Whether the batch accepts no more keys, because it is being loaded, or every caller has left.
    var isClosed = false
    var window: Task<Void, Never>?
    var load: Task<Void, Never>?

    mutating func add(_ key: Key, _ answer: Answer) {
      if answers[key] == nil { keys.append(key) }
      answers[key, default: []].append(answer)
      waiting += 1
    }
  }

  private let state: Lock<State>

  init(_ key: Key, _ answer: Answer) {
    var state = State()
    state.add(key, answer)
    self.state = Lock(state)
  }

  var waiting: Int { state.withLock { $0.waiting } }

  /// Adds a key.
  ///
  /// - Returns: the number of keys; `nil` if the batch accepts no more.
  func add(_ key: Key, _ answer: Answer) -> Int? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      state.add(key, answer)
      return state.keys.count
    }
  }

  /// Closes the batch and returns the keys to load; `nil` if it is closed already.
  func begin() -> [Key]? {
    let (keys, window) = state.withLock { state -> ([Key]?, Task<Void, Never>?) in
      guard !state.isClosed else { return (nil, nil) }
      state.isClosed = true
      return (state.keys, state.window.take())
    }
    // The window task may be the caller. It has nothing left to wait for then.
    window?.cancel()
    return keys
  }

  /// Stores the task that waits for more keys, to cancel it when the batch is closed.
  func keep(window: Task<Void, Never>) {
    let isOver = state.withLock { state in
      if !state.isClosed { state.window = window }
      return state.isClosed
    }
    if isOver { window.cancel() }
  }

  /// Stores the task that loads the keys, to cancel it when no caller waits.
  func keep(load: Task<Void, Never>) {
    let isLeft = state.withLock { state in
      state.load = load
      return state.waiting == 0
    }
    if isLeft { load.cancel() }
  }

  /// Removes a caller that was cancelled.
  ///
  /// - Returns: whether it was the last caller.
  func leave() -> Bool {
    let (isLast, tasks) = state.withLock { state -> (Bool, [Task<Void, Never>?]) in
      state.waiting -= 1
      guard state.waiting == 0 else { return (false, []) }
      state.isClosed = true
      return (true, [state.window.take(), state.load])
    }
    for task in tasks { task?.cancel() }
    return isLast
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
