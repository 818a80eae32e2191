// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A counter of running jobs. It may be negative for a moment, because a job may end before it is counted.
package final class LoadCounter: Sendable {
  private let jobs = Atomic<Int>(0)

  package init() {}

  package var value: Int { jobs.load(ordering: .relaxed) }
  package func increment() { jobs.add(1, ordering: .relaxed) }
  package func decrement() { jobs.subtract(1, ordering: .relaxed) }
}
