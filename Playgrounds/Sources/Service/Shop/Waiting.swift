// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// A task whose result a thread waits for.
final class Waiting<Value: Sendable>: Sendable {
  private let answer = Mutex<Result<Value, any Error>?>(nil)
  private let isThere = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () async throws -> Value) {
    Task {
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      answer.withLock { $0 = result }
      isThere.signal()
    }
  }

  /// Blocks the thread until the task has ended, and returns its result. Call it only once.
  func result() -> Result<Value, any Error> {
    isThere.wait()
    return answer.withLock { $0 } ?? .failure(CancellationError())
  }
}
