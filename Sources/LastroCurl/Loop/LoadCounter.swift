// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How many jobs a loop has, and how many of them wait.
final class LoadCounter: Sendable {
  private let jobs = Atomic<Int>(0)

  var value: Int { jobs.load(ordering: .relaxed) }
  func begin() { jobs.add(1, ordering: .relaxed) }
  func end() { jobs.subtract(1, ordering: .relaxed) }
}
