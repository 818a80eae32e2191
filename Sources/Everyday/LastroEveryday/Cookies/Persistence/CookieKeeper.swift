// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Writes a jar's changes to its store, within a second and at most once a second.
final class CookieKeeper: Sendable {
  /// The minimum time between two saves.
  static let pause = Duration.seconds(1)

  private struct State {
    /// Whether the jar has a change that the store does not.
    var isBehind = false
    var isScheduled = false
    var nextSave: Duration?
    var failure: ConfigurationError?
  }

  /// Writes one save after another, each with the jar's cookies at that time.
  private actor Writer {
    let store: any CookieStore

    init(_ store: any CookieStore) { self.store = store }

    func write(_ cookies: @Sendable () -> [Cookie]) throws(ConfigurationError) { try store.save(cookies()) }
  }

  private let store: any CookieStore
  private let writer: Writer
  private let time: TimeSource
  private let state = Lock(State())

  init(_ store: any CookieStore, time: TimeSource) {
    self.store = store
    self.time = time
    writer = Writer(store)
  }

  var failure: ConfigurationError? { state.withLock { $0.failure } }

  /// Records a change, and schedules a save.
  ///
  /// - Parameter source: returns a closure that retains the jar and returns its cookies; `nil` once the jar is gone,
  ///   which performs the last save itself.
  func changed(_ source: @escaping @Sendable () -> (@Sendable () -> [Cookie])?) {
    let now = time.now()
    let wait = state.withLock { state -> Duration? in
      state.isBehind = true
      guard !state.isScheduled else { return nil }
      state.isScheduled = true
      return max(.zero, (state.nextSave ?? now) - now)
    }
    guard let wait else { return }
    Task { [self] in
      if wait > .zero { try? await time.limit(wait) }
      state.withLock { $0.isScheduled = false }
      if let cookies = source() { try? await save(cookies) }
    }
  }

  func save(_ cookies: @Sendable () -> [Cookie]) async throws(ConfigurationError) {
    state.withLock { state in
      // Changes from here on may miss this save.
      state.isBehind = false
      state.nextSave = time.now() + Self.pause
    }
    do throws(ConfigurationError) {
      try await writer.write(cookies)
      state.withLock { $0.failure = nil }
    } catch {
      state.withLock { state in
        state.isBehind = true
        state.failure = error
      }
      throw error
    }
  }

  /// Saves the outstanding changes when the jar is deinitialized.
  func saveIfBehind(_ cookies: @autoclosure () -> [Cookie]) {
    guard state.withLock({ $0.isBehind }) else { return }
    try? store.save(cookies())
  }
}
