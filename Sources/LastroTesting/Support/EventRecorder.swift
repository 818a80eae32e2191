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
///
/// A test that has to go on when something has happened waits for it:
///
/// ```swift
/// try await recorder.waitForEvents(count: 2)
/// ```
public final class EventRecorder<Event: Sendable>: Sendable {
  private let state = Watched<[Event]>([])

  /// Makes an empty recorder.
  public init() {}

  /// Appends an event. May be called from any thread.
  ///
  /// - Returns: The index of the event in ``events``: 0 for the first.
  @discardableResult
  public func record(_ event: Event) -> Int {
    state.change { events in
      events.append(event)
      return events.count - 1
    }
  }

  /// The events so far, in the order of their recording.
  public var events: [Event] { state.read { $0 } }

  /// Number of events so far.
  public var count: Int { state.read { $0.count } }

  /// Waits until so many events are recorded. Those that were forgotten do not count.
  ///
  /// - Returns: the events at that time, which may be more.
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  @discardableResult
  public func waitForEvents(count: Int) async throws -> [Event] {
    guard await state.wait(until: { $0.count >= count }) else { throw CancellationError() }
    return events
  }

  /// Forgets the events and gives them back.
  @discardableResult
  public func removeAll() -> [Event] {
    state.change { events in
      defer { events = [] }
      return events
    }
  }
}
