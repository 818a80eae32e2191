// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// An event that a server sent (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
  /// The type of the event: the `event` field, or `message` if the server names none.
  public var name: String
  /// The `data` fields, joined by LF. May be empty.
  public var data: String
  /// The current identifier: that of this event, or of the latest earlier event that had one. Empty if there was none.
  /// A reconnection sends it as `Last-Event-ID`.
  public var lastEventID: String

  /// Creates an event, for tests.
  public init(name: String = "message", data: String, lastEventID: String = "") {
    self.name = name
    self.data = data
    self.lastEventID = lastEventID
  }

  init(_ event: EventStreamMachine.Event) {
    self.init(name: event.name, data: event.data, lastEventID: event.id)
  }
}
