// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroFleet
import LastroSupport

/// A store in memory that the instances of a test share, with a clock of the test and failures on demand.
final class MemoryFleetStore: FleetStore {
  fileprivate struct State {
    var values: [String: (bytes: [UInt8], end: Duration)] = [:]
    var failure: FleetStoreError?
    /// The failure of changes alone.
    var refusal: FleetStoreError?
    /// The number of changes to apply whose responses are lost.
    var lostResponses = 0
    var reads = 0
    var changes = 0
    /// The number of changes that were tried.
    var attempts = 0
  }

  private let state = Lock(State())
  private let now: @Sendable () -> Duration
  /// Called before and after each operation.
  private let pause: @Sendable () async -> Void

  init(now: @escaping @Sendable () -> Duration, pause: @escaping @Sendable () async -> Void = {}) {
    self.now = now
    self.pause = pause
  }

  static let down = FleetStoreError(.unreachable, "the store is down")

  func fail(_ failure: FleetStoreError?) { state.withLock { $0.failure = failure } }
  var isUp: Bool { state.withLock { $0.failure == nil } }
  func loseResponses(_ count: Int) { state.withLock { $0.lostResponses = count } }
  func refuseChanges(_ refusal: FleetStoreError?) { state.withLock { $0.refusal = refusal } }
  /// The keys in alphabetical order.
  var keys: [String] { state.withLock { $0.values.keys.sorted() } }
  func value(of key: String) -> [UInt8]? { state.withLock { $0.values[key]?.bytes } }
  func put(_ bytes: [UInt8], for key: String) { state.withLock { $0.values[key]?.bytes = bytes } }
  func evict(_ key: String) { state.withLock { $0.values[key] = nil } }
  /// The number of operations that succeeded.
  var operations: Int { state.withLock { $0.reads + $0.attempts } }
  func removeAll() { state.withLock { $0.values = [:] } }
  var values: [[UInt8]] { state.withLock { $0.values.values.map(\.bytes) } }
  var reads: Int { state.withLock { $0.reads } }
  var changes: Int { state.withLock { $0.changes } }
  var attempts: Int { state.withLock { $0.attempts } }

  func read(_ key: String) async throws(FleetStoreError) -> StoredValue {
    await pause()
    let now = now()
    let value = try state.withLock { state throws(FleetStoreError) in
      if let failure = state.failure { throw failure }
      state.reads += 1
      return StoredValue(bytes: state.current(key, at: now), time: now)
    }
    await pause()
    return value
  }

  func set(
    _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, expiresAfter lifetime: Duration
  ) async throws(FleetStoreError) -> StoredValue {
    await pause()
    let now = now()
    let value = try state.withLock { state throws(FleetStoreError) in
      if let failure = state.failure ?? state.refusal { throw failure }
      state.attempts += 1
      let current = state.current(key, at: now)
      guard current == old || current == new else { return StoredValue(bytes: current, time: now) }
      state.values[key] = (new, now + lifetime)
      state.changes += 1
      if state.lostResponses > 0 {
        state.lostResponses -= 1
        throw Self.down
      }
      return StoredValue(bytes: new, time: now)
    }
    await pause()
    return value
  }
}

extension MemoryFleetStore.State {
  fileprivate func current(_ key: String, at now: Duration) -> [UInt8]? {
    values[key].flatMap { $0.end > now ? $0.bytes : nil }
  }
}
