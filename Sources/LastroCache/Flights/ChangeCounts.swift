// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// What other methods changed while answers were under way: one that was asked for before a change, and comes behind
/// it, may be of what was there before.
final class ChangeCounts: Sendable {
  private struct Count {
    var readers = 0
    var changes = 0
  }

  private struct State {
    /// By URL, as long as an answer of it is under way.
    var counts: [[UInt8]: Count] = [:]
    /// Of all URLs at once.
    var ofAll = 0
  }

  private let state = Lock(State())

  /// An answer of a URL is asked for.
  func begin(_ url: [UInt8]) -> Reading {
    state.withLock { state in
      state.counts[url, default: Count()].readers += 1
      return Reading(self, url, at: state.ofAll + (state.counts[url]?.changes ?? 0))
    }
  }

  /// A URL has changed; `nil` for all.
  func note(_ url: [UInt8]?) {
    state.withLock { state in
      if let url { state.counts[url]?.changes += 1 } else { state.ofAll += 1 }
    }
  }

  fileprivate func count(_ url: [UInt8]) -> Int { state.withLock { $0.ofAll + ($0.counts[url]?.changes ?? 0) } }

  fileprivate func end(_ url: [UInt8]) {
    state.withLock { state in
      state.counts[url]?.readers -= 1
      if state.counts[url]?.readers == 0 { state.counts[url] = nil }
    }
  }

  /// An answer that is under way, until the last of its body is kept.
  final class Reading: Sendable {
    private let counts: ChangeCounts
    private let url: [UInt8]
    private let begin: Int

    fileprivate init(_ counts: ChangeCounts, _ url: [UInt8], at begin: Int) {
      self.counts = counts
      self.url = url
      self.begin = begin
    }

    deinit { counts.end(url) }

    /// Whether nothing has changed since it was asked for, as far as is known.
    var isTrue: Bool { counts.count(url) == begin }
  }
}
