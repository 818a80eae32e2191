// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Counts of the changes made by other methods while responses are in progress. A response requested before a change
/// and received after it may show the state before the change.
final class ChangeCounts: Sendable {
  private struct Count {
    var readers = 0
    var changes = 0
  }

  private struct State {
    /// The counts by URL, for as long as a response for that URL is in progress.
    var counts: [[UInt8]: Count] = [:]
    /// The number of changes that concern all URLs.
    var ofAll = 0
  }

  private let state = Lock(State())

  /// Registers a request for a URL.
  func startReading(_ url: [UInt8]) -> Reading {
    state.withLock { state in
      state.counts[url, default: Count()].readers += 1
      return Reading(self, url, at: state.ofAll + (state.counts[url]?.changes ?? 0))
    }
  }

  /// Records that a URL has changed, or all URLs if `nil`.
  func note(_ url: [UInt8]?) {
    state.withLock { state in
      if let url { state.counts[url]?.changes += 1 } else { state.ofAll += 1 }
    }
  }

  fileprivate func count(_ url: [UInt8]) -> Int { state.withLock { $0.ofAll + ($0.counts[url]?.changes ?? 0) } }

  fileprivate func endReading(_ url: [UInt8]) {
    state.withLock { state in
      state.counts[url]?.readers -= 1
      if state.counts[url]?.readers == 0 { state.counts[url] = nil }
    }
  }

  /// A response in progress, until its whole body is stored.
  final class Reading: Sendable {
    private let counts: ChangeCounts
    private let url: [UInt8]
    private let begin: Int

    fileprivate init(_ counts: ChangeCounts, _ url: [UInt8], at begin: Int) {
      self.counts = counts
      self.url = url
      self.begin = begin
    }

    deinit { counts.endReading(url) }

    /// Whether the URL has not changed since the request, as far as is known.
    var isTrue: Bool { counts.count(url) == begin }
  }
}
