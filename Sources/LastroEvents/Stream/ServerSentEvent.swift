// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// An event that a server sent (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
  /// Its type: the `event` field, or `message` where the server names none.
  public var name: String
  /// Its `data` fields, joined by LF. May be empty.
  public var data: String
  /// The identifier in force: that of the event, or of the latest one before it that had one. Empty where there was
  /// none. It is what a reconnection sends as `Last-Event-ID`.
  public var lastEventID: String

  /// Makes an event, for tests.
  public init(name: String = "message", data: String, lastEventID: String = "") {
    self.name = name
    self.data = data
    self.lastEventID = lastEventID
  }

  init(_ event: EventStreamMachine.Event) {
    self.init(name: event.name, data: event.data, lastEventID: event.id)
  }
}
