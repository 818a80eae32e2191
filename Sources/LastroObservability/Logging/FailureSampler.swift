// SPDX-License-Identifier: Apache-2.0

import Logging

/// Which of the failures that are alike are told one by one: no more than so many within a window of time, which begins
/// with the first of them. A value; time comes from outside.
struct FailureSampler {
  /// What such failures have in common.
  struct Kind: Hashable {
    var server: String?
    var operation: String?
    var reason: String?
  }

  /// What was not told within a window.
  struct Untold: Equatable {
    var kind: Kind
    var level: Logger.Level
    var count: Int
  }

  private struct Window {
    var start: Duration
    var level: Logger.Level
    var count = 0
  }

  /// Failures of more kinds count as one kind without a name.
  static let maximumKinds = 1000

  private let maximumAlike: Int
  private let length: Duration
  private var windows: [Kind: Window] = [:]
  /// When the first of the windows ends.
  private var nextEnd: Duration?

  init(maximumAlike: Int, window: Duration) {
    self.maximumAlike = max(1, maximumAlike)
    length = max(.zero, window)
  }

  /// Counts a failure, and says whether it is told.
  mutating func tells(_ kind: Kind, at level: Logger.Level, now: Duration) -> Bool {
    let kind = windows[kind] != nil || windows.count < Self.maximumKinds ? kind : Kind()
    windows[kind, default: Window(start: now, level: level)].count += 1
    nextEnd = nextEnd ?? now + length
    return windows[kind].map { $0.count <= maximumAlike } ?? true
  }

  /// What the windows that are over kept back, the oldest first.
  ///
  /// - Parameter now: `nil` to end them all.
  mutating func takeUntold(now: Duration?) -> [Untold] {
    if let now, nextEnd.map({ now < $0 }) ?? true { return [] }
    let over = windows.filter { window in now.map { $0 - window.value.start >= length } ?? true }
    for kind in over.keys { windows[kind] = nil }
    nextEnd = windows.values.map(\.start).min().map { $0 + length }
    return over.filter { $0.value.count > maximumAlike }.sorted { $0.value.start < $1.value.start }.map {
      kind, window in
      Untold(kind: kind, level: window.level, count: window.count - maximumAlike)
    }
  }
}
