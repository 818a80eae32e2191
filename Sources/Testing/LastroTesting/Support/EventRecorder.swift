// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroSupport

/// A recorder of events from any thread in order, for example of an interceptor or of a log.
///
/// ```swift
/// let recorder = EventRecorder<String>()
/// recorder.record("scheduled")
/// #expect(recorder.events == ["scheduled"])
/// ```
///
/// A test can wait for an event:
///
/// ```swift
/// try await recorder.waitForEvents(count: 2)
/// ```
public final class EventRecorder<Event: Sendable>: Sendable {
  private let state = Watched<[Event]>([])

  /// Creates an empty recorder.
  public init() {}

  /// Appends an event. It may be called from any thread.
  ///
  /// - Returns: the index of the event in ``events``: 0 for the first.
  @discardableResult
  public func record(_ event: Event) -> Int {
    state.change { events in
      events.append(event)
      return events.count - 1
    }
  }

  /// The events so far, in the order in which they were recorded.
  public var events: [Event] { state.read { $0 } }

  /// The number of events so far.
  package var count: Int { state.read { $0.count } }

  /// Waits until the given number of events is recorded. Removed events do not count.
  ///
  /// - Returns: the events at that time, possibly more than `count`.
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  @discardableResult
  public func waitForEvents(count: Int) async throws -> [Event] {
    guard await state.wait(until: { $0.count >= count }) else { throw CancellationError() }
    return events
  }

  /// Removes and returns the events.
  @discardableResult
  public func removeAll() -> [Event] {
    state.change { events in
      defer { events = [] }
      return events
    }
  }
}
