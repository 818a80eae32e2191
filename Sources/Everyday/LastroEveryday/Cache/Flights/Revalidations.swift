// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Background validations of stale responses that have been served (RFC 5861 §3).
final class Revalidations: Sendable {
  private static let maximum = 8
  /// The time during which no validation begins for an entry after one failed.
  private static let pause = Duration.seconds(5)
  /// The maximum number of pauses to remember.
  private static let maximumPauses = 1_000

  private struct State {
    var running: [CacheKey: Task<Void, Never>?] = [:]
    var pauses: [CacheKey: Duration] = [:]
    var isShutDown = false
  }

  private let state = Watched(State())

  deinit { shutDown() }

  /// Begins a validation, unless one for the key is running or failed recently, or the maximum number is running.
  ///
  /// - Parameter operation: returns whether the validation succeeded.
  func begin(
    _ key: CacheKey, now: @escaping @Sendable () -> Duration, _ operation: @escaping @Sendable () async -> Bool
  ) {
    let mayBegin = state.change { state in
      guard !state.isShutDown, !state.running.keys.contains(key), state.running.count < Self.maximum else {
        return false
      }
      if let until = state.pauses[key] {
        guard now() >= until else { return false }
        state.pauses[key] = nil
      }
      state.running[key] = .some(nil)
      return true
    }
    guard mayBegin else { return }
    let task = Task { [weak self] in
      let isWell = await operation()
      self?.ended(key, isWell: isWell, now: now())
    }
    let isLate = state.change { state in
      if state.running.keys.contains(key) { state.running[key] = task }
      return state.isShutDown
    }
    if isLate { task.cancel() }
  }

  /// Waits until no validation is running.
  func ended() async { _ = await state.wait { $0.running.isEmpty } }

  private func ended(_ key: CacheKey, isWell: Bool, now: Duration) {
    state.change { state in
      state.running.removeValue(forKey: key)
      guard !isWell else { return }
      if state.pauses.count >= Self.maximumPauses { state.pauses = [:] }
      state.pauses[key] = now + Self.pause
    }
  }

  func shutDown() {
    let tasks = state.change { state in
      state.isShutDown = true
      return state.running.values.compactMap(\.self)
    }
    for task in tasks { task.cancel() }
  }
}
