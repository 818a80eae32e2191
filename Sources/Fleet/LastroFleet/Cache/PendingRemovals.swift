// SPDX-License-Identifier: Apache-2.0

/// The removals that the store has not heard of.
struct PendingRemovals: Sendable, Hashable {
  /// The maximum number of URLs to remember; beyond it, all responses are to be removed.
  private static let maximum = 1_000

  /// The URLs, each with the number of its latest removal.
  private(set) var urls: [[UInt8]: UInt64] = [:]
  /// The number of the latest removal of all responses.
  private(set) var all: UInt64?
  private var last: UInt64 = 0

  var isEmpty: Bool { all == nil && urls.isEmpty }

  /// The removals, that of all responses first.
  var scopes: [SharedCacheStore.RemovalScope] { (all == nil ? [] : [.all]) + urls.keys.map { .url($0) } }

  /// Returns whether there is such a removal.
  func includes(_ scope: SharedCacheStore.RemovalScope) -> Bool {
    switch scope {
    case .url(let url): urls[url] != nil
    case .all: all != nil
    }
  }

  mutating func add(_ url: [UInt8]) {
    guard urls.count < Self.maximum || urls[url] != nil else { return addAll() }
    last += 1
    urls[url] = last
  }

  mutating func addAll() {
    last += 1
    all = last
    urls = [:]
  }

  /// Records that the store has heard of a removal.
  mutating func settled(_ url: [UInt8], _ number: UInt64) { if urls[url] == number { urls[url] = nil } }

  /// Records that the store has heard of a removal of all responses.
  mutating func settledAll(_ number: UInt64) { if all == number { all = nil } }
}
