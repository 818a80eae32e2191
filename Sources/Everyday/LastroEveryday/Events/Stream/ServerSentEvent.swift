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

  /// The event as a server writes it (WHATWG HTML §9.2.6): its fields in UTF-8, and an empty line. Line ends within the
  /// name or the identifier are left out, because they would begin another field.
  public var wireText: String {
    var text = ""
    let name = name.filter { !$0.isNewline }, id = lastEventID.filter { !$0.isNewline && $0 != "\0" }
    if name != "message", !name.isEmpty { text += "event: \(name)\n" }
    if !id.isEmpty { text += "id: \(id)\n" }
    for line in data.split(
      omittingEmptySubsequences: false, whereSeparator: { "\r\n" == $0 || "\n" == $0 || "\r" == $0 })
    { text += "data: \(line)\n" }
    return text + "\n"
  }
}
