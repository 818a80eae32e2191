// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps a number of requests in flight: as many tasks, each taking the next request when its last one has ended.
///
/// A shared counter costs a few nanoseconds a request. Shares that are dealt out beforehand cost nothing, but leave the
/// last tasks alone at the end, with fewer in flight than was asked for.
enum Load {
  private final class Counter: Sendable {
    private let taken = Atomic<Int>(0)
    func take() -> Int { taken.add(1, ordering: .relaxed).oldValue }
  }

  /// Returns the bytes of all answers. The first failure cancels the others and is thrown.
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
