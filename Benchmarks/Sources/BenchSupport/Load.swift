// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A load that keeps a number of requests in flight. It runs that many tasks, and each starts the next request when its
/// previous one has ended.
///
/// The tasks share a counter, which costs a few nanoseconds per request. A fixed share for each task would cost
/// nothing, but at the end fewer requests than intended would be in flight.
enum Load {
  private final class Counter: Sendable {
    private let taken = Atomic<Int>(0)
    func take() -> Int { taken.add(1, ordering: .relaxed).oldValue }
  }

  /// Runs the requests, and returns the number of bytes of all responses. The first failure cancels the other requests
  /// and is thrown.
  static func run(
    _ count: Int, concurrency: Int, size: Int?, _ exchange: @escaping BenchClient.Exchange
  ) async throws -> Int {
    let counter = Counter()
    return try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<min(concurrency, count) {
        group.addTask {
          var bytes = 0
          while counter.take() < count { bytes += try await exchange().checked(size: size) }
          return bytes
        }
      }
      var bytes = 0
      for try await part in group { bytes += part }
      return bytes
    }
  }
}
