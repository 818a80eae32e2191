// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The workers of a server, of which each answers one request at a time. Further requests wait in the order in which
/// they arrived.
///
/// A start of a machine has workers of its own, so that a crash ends the queue with the program.
final class ServerWorkers {
  private var free: Int
  private var waiting: [() -> Void] = []
  /// The index of the first request that waits. The array is shortened rarely, because a queue may be long.
  private var head = 0

  /// - Parameter count: the number of workers, at least 1.
  init(_ count: Int) { free = count }

  /// Begins to answer a request as soon as a worker is free. ``release()`` must be called when the answer is complete.
  func begin(_ answer: @escaping () -> Void) {
    guard free > 0 else { return waiting.append(answer) }
    free -= 1
    answer()
  }

  /// Lets a worker that has answered a request begin with the next one.
  func release() {
    guard head < waiting.count else { return free += 1 }
    let next = waiting[head]
    waiting[head] = {}
    head += 1
    if head > 1_000, 2 * head > waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
    next()
  }

  /// Drops the requests that wait, for the end of a simulation.
  func forgetAll() { waiting = [] }
}

extension ConfigurationError {
  /// Throws an error for a number of workers with which a server would never answer.
  static func check(workers count: Int?) throws(ConfigurationError) {
    guard let count, count < 1 else { return }
    throw ConfigurationError(
      "a server with \(count) workers answers no request", hint: "give 1 or more, or nil for no limit")
  }
}
