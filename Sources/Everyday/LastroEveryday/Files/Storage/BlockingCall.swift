// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Runs calls that may block for seconds, such as syncing a file, on threads of their own: the concurrent pool has few
/// threads, and all of the program's tasks depend on them.
enum BlockingCall {
  /// Runs `body` on a thread of its own, and returns its result. Cancelling the task does not interrupt it.
  static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = OneAnswer<Result<Value, Failure>>()
    let work = { @Sendable in result.give(Result { () throws(Failure) in try body() }) }
    // If no thread can be created, run here: that is slow, but correct.
    if DetachedThread.start(work) != 0 { work() }
    return try await result.value().get()
  }
}
