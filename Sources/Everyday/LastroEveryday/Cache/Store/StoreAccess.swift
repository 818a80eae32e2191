// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// A cache's access to its store. A store that hangs does not block fetches, and responses that it fails to remove are
/// not served.
final class StoreAccess: Sendable {
  /// The total time for which one fetch waits for the store.
  static let patience = Duration.seconds(1)
  /// The maximum number of simultaneous calls; beyond it, the store is not called.
  private static let maximumCalls = 4_096
  /// The maximum number of condemned URLs to remember; beyond it, everything stored is condemned.
  private static let maximumCondemned = 1_000

  private struct State {
    var lastID: UInt64 = 0
    var running: Set<UInt64> = []
    /// The number of calls for the key that have not returned.
    var keyCalls = 0
    /// The running calls that took longer than a fetch waits.
    var late: Set<UInt64> = []
    /// The URLs whose stored responses must not be served, each with the id of the call that condemned it.
    var condemned: [[UInt8]: UInt64] = [:]
    /// The id of the call that condemned all URLs; `nil` if there was none.
    var allCondemned: UInt64?

    mutating func makeID() -> UInt64 {
      lastID += 1
      return lastID
    }

    func isCondemned(_ url: [UInt8]) -> Bool { allCondemned != nil || condemned[url] != nil }
  }

  private let store: any HTTPCacheStore
  private let state = Lock(State())

  init(_ store: any HTTPCacheStore) { self.store = store }

  /// Calls the store in a task of its own, which keeps running after the caller has stopped waiting.
  ///
  /// - Parameter limit: the maximum wait; `nil` for no limit.
  /// - Returns: `nil` if the wait reached its limit or the caller was cancelled; immediately `nil` if an earlier call
  ///   is still hanging, or too many calls are running.
  func ask<Value: Sendable>(
    within limit: Duration?, _ time: TimeSource,
    _ body: @escaping @Sendable (any HTTPCacheStore) async -> Value
  ) async -> Value? {
    let call = state.withLock { state -> UInt64? in
      guard state.late.isEmpty, state.running.count < Self.maximumCalls else { return nil }
      let id = state.makeID()
      state.running.insert(id)
      return id
    }
    guard let call else { return nil }
    let outcome = await interruptible(within: limit, time: time) { [self] in
      let value = await body(store)
      state.withLock { state in
        state.running.remove(call)
        state.late.remove(call)
      }
      return value
    }
    if case .failure(.limit) = outcome {
      state.withLock { if $0.running.contains(call) { $0.late.insert(call) } }
    }
    return try? outcome.get()
  }

  /// Returns the store's key, even while another call hangs. Does not wait: returns `nil` unless the store has the key
  /// at hand.
  func digestKey(_ time: TimeSource) async -> [UInt8]? {
    let isFree = state.withLock { state in
      guard state.keyCalls < Self.maximumCalls else { return false }
      state.keyCalls += 1
      return true
    }
    guard isFree else { return nil }
    return try? await interruptible(within: .zero, time: time) { [self] in
      let key = await store.digestKey()
      state.withLock { $0.keyCalls -= 1 }
      return key
    }.get()
  }

  /// Forbids serving what is stored for a URL; `nil` for all URLs.
  func condemn(_ url: [UInt8]?) {
    state.withLock { state in
      let id = state.makeID()
      if let url, state.condemned.count < Self.maximumCondemned || state.condemned[url] != nil {
        state.condemned[url] = id
      } else {
        state.allCondemned = id
        state.condemned = [:]
      }
    }
  }

  /// Removes the responses of a condemned URL. Call it within `ask`.
  ///
  /// - Returns: whether the store's responses for the URL may be served.
  func clear(_ url: [UInt8]) async -> Bool {
    let (latest, all, own) = state.withLock { ($0.lastID, $0.allCondemned, $0.condemned[url]) }
    if all != nil {
      await clearAll()
    } else if own != nil, await store.removeAll(ofURL: url) {
      state.withLock { state in
        if let id = state.condemned[url], id <= latest { state.condemned[url] = nil }
      }
    }
    return !isCondemned(url)
  }

  /// Removes all responses. Call it within `ask`.
  func clearAll() async {
    let latest = state.withLock { $0.lastID }
    guard await store.removeAll() else { return }
    state.withLock { state in
      state.condemned = state.condemned.filter { $0.value > latest }
      if let id = state.allCondemned, id <= latest { state.allCondemned = nil }
    }
  }

  func isCondemned(_ url: [UInt8]) -> Bool { state.withLock { $0.isCondemned(url) } }
}
