// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How many jobs a loop has. Below 0 for a moment, where one ends before it is counted.
final class LoadCounter: Sendable {
  private let jobs = Atomic<Int>(0)

  var value: Int { jobs.load(ordering: .relaxed) }
  func begin() { jobs.add(1, ordering: .relaxed) }
  func end() { jobs.subtract(1, ordering: .relaxed) }
}
