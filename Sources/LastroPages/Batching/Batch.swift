// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Keys that are loaded together, and who waits for them.
final class Batch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Answer = OneAnswer<Result<Value, any Error>>

  private struct State {
    var keys: [Key] = []
    var answers: [Key: [Answer]] = [:]
    var waiting = 0
    /// Whether it takes no more keys: it is loaded, or all have left.
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
  /// - Returns: how many keys there are; `nil` where it takes none any more.
  func add(_ key: Key, _ answer: Answer) -> Int? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      state.add(key, answer)
      return state.keys.count
    }
  }

  /// The keys to load; `nil` where that was begun, or none waits any more.
  func begin() -> [Key]? {
    let (keys, window) = state.withLock { state -> ([Key]?, Task<Void, Never>?) in
      guard !state.isClosed else { return (nil, nil) }
      state.isClosed = true
      return (state.keys, state.window.take())
    }
    // It may be what runs this, and has nothing to wait for then.
    window?.cancel()
    return keys
  }

  /// Keeps what waits for more keys, to end it when none are taken any more.
  func keep(window: Task<Void, Never>) {
    let isOver = state.withLock { state in
      if !state.isClosed { state.window = window }
      return state.isClosed
    }
    if isOver { window.cancel() }
  }

  /// Keeps what loads the keys, to cancel it when none waits.
  func keep(load: Task<Void, Never>) {
    let isLeft = state.withLock { state in
      state.load = load
      return state.waiting == 0
    }
    if isLeft { load.cancel() }
  }

  /// One who waited was cancelled.
  ///
  /// - Returns: whether that was the last one.
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
