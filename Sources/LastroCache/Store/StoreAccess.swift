// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// What a cache asks of its store. One that hangs holds no fetch up, and what it fails to remove does not answer.
final class StoreAccess: Sendable {
  /// How long one fetch waits for the store, in all.
  static let patience = Duration.seconds(1)
  /// Calls at once; beyond them the store is not asked.
  private static let maximumCalls = 4_096
  /// More URLs are not remembered: then all that is kept has to go.
  private static let maximumCondemned = 1_000

  private struct State {
    var lastID: UInt64 = 0
    var running: Set<UInt64> = []
    /// Calls for the key that no fetch waits for.
    var keyCalls = 0
    /// Those of them that took longer than a fetch waits.
    var late: Set<UInt64> = []
    /// URLs of which nothing that is in the store may answer, each with the call by which it was condemned.
    var condemned: [[UInt8]: UInt64] = [:]
    /// As `condemned`, for all URLs.
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

  /// Asks the store, in a task of its own, which goes on behind a caller that waits no longer.
  ///
  /// - Parameter limit: longest wait; `nil` for none.
  /// - Returns: `nil` where the wait was given up, where the caller is cancelled for one, and at once where an earlier
  ///   call has hung since.
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

  /// The store's key, also while another call hangs: a store that has it at hand is not waited for.
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

  /// What is kept of a URL must not answer any more; `nil` for all of them.
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

  /// Removes what is condemned of a URL. Part of what is asked.
  ///
  /// - Returns: whether what the store has of it may answer.
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

  /// Removes all that is kept. Part of what is asked.
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
