// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Writes a jar's changes to its store: within a second, and no more often.
final class CookieKeeper: Sendable {
  /// The time between two saves.
  static let pause = Duration.seconds(1)

  private struct State {
    /// Whether the store lacks a change.
    var isBehind = false
    var isScheduled = false
    var nextSave: Duration?
    var failure: CookieError?
  }

  /// One save after the other, each with what the jar has by then.
  private actor Writer {
    let store: any CookieStore

    init(_ store: any CookieStore) { self.store = store }

    func write(_ cookies: @Sendable () -> [Cookie]) throws(CookieError) { try store.save(cookies()) }
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

  var failure: CookieError? { state.withLock { $0.failure } }

  /// Notes a change.
  ///
  /// - Parameter source: what gives the jar's cookies and keeps it alive meanwhile; `nil` once the jar is gone, which
  ///   writes for the last time itself.
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

  func save(_ cookies: @Sendable () -> [Cookie]) async throws(CookieError) {
    state.withLock { state in
      // What changes from here on may be missed.
      state.isBehind = false
      state.nextSave = time.now() + Self.pause
    }
    do throws(CookieError) {
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

  /// Writes what is not written yet, when the jar ends.
  func finish(with cookies: @autoclosure () -> [Cookie]) {
    guard state.withLock({ $0.isBehind }) else { return }
    try? store.save(cookies())
  }
}
