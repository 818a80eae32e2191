// SPDX-License-Identifier: Apache-2.0

import Logging

/// A limiter that selects which similar failures are logged individually: up to a maximum within a time window, which
/// begins with the first of them. It is a value without a clock.
struct FailureSampler {
  /// The properties that similar failures share.
  struct Kind: Hashable {
    var server: String?
    var operation: String?
    var reason: String?
  }

  /// The failures that were not logged individually within a window.
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

  /// The maximum number of kinds. Failures of further kinds share one kind without a name.
  static let maximumKinds = 1000

  private let maximumAlike: Int
  private let length: Duration
  private var windows: [Kind: Window] = [:]
  /// The time at which the first window ends.
  private var nextEnd: Duration?

  init(maximumAlike: Int, window: Duration) {
    self.maximumAlike = max(1, maximumAlike)
    length = max(.zero, window)
  }

  /// Counts a failure; returns whether it is to be logged individually.
  mutating func tells(_ kind: Kind, at level: Logger.Level, now: Duration) -> Bool {
    let kind = windows[kind] != nil || windows.count < Self.maximumKinds ? kind : Kind()
    windows[kind, default: Window(start: now, level: level)].count += 1
    nextEnd = nextEnd ?? now + length
    return windows[kind].map { $0.count <= maximumAlike } ?? true
  }

  /// Removes the windows that have ended; returns their suppressed failures, oldest first.
  ///
  /// - Parameter now: the current time; `nil` ends all windows.
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
