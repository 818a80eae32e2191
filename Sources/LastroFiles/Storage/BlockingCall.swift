// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Calls that may block for seconds, such as syncing a file: on a thread of their own, because the concurrent pool has
/// few, and all of the program's tasks wait for those.
enum BlockingCall {
  /// Runs `body` on a thread of its own, and gives what it returns. It is not cut short when the task is cancelled.
  static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = OneAnswer<Result<Value, Failure>>()
    let work = { @Sendable in result.give(Result { () throws(Failure) in try body() }) }
    // Where no thread can be made it runs here, which is slow rather than wrong.
    if DetachedThread.start(work) != 0 { work() }
    return try await result.value().get()
  }
}
