// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroSupport

/// Records events in the order they happened, from any thread: what an interceptor saw, what was logged.
///
/// ```swift
/// let recorder = EventRecorder<String>()
/// recorder.record("scheduled")
/// #expect(recorder.events == ["scheduled"])
/// ```
public final class EventRecorder<Event: Sendable>: Sendable {
  private let state = Lock<[Event]>([])

  /// Makes an empty recorder.
  public init() {}

  /// Appends an event. May be called from any thread.
  public func record(_ event: Event) { state.withLock { $0.append(event) } }

  /// The events so far, in the order of their recording.
  public var events: [Event] { state.withLock { $0 } }

  /// Number of events so far.
  public var count: Int { state.withLock { $0.count } }

  /// Forgets the events and gives them back.
  @discardableResult
  public func removeAll() -> [Event] {
    state.withLock { events in
      defer { events = [] }
      return events
    }
  }
}
