// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro

/// The sign by which a service marks an event: the event that completes a stream, or the events that report errors of
/// the API.
///
/// If a stream has an end mark, an end without it is a failure with code `truncated_stream`: if a proxy closes the
/// stream in an orderly way, half a response must not look complete. A service that fails after it has sent the head
/// can no longer report the failure by a status, and sends an event.
public enum EventMark: Sendable, Hashable, ExpressibleByStringLiteral {
  /// No mark: the stream ends when its events end, and no event reports an error.
  case none
  /// An event whose data is exactly this text, such as `[DONE]`. As an end mark, it is not decoded.
  case data(String)
  /// An event with this name, such as `message_stop` or `error`. As an end mark, it is decoded if its name is among the
  /// decoded ones, as is needed for an event that summarizes the response.
  case event(String)
  /// An event whose data is a JSON object with this top-level key, such as `error`, unless its value is null. As an end
  /// mark, it is decoded like ``event(_:)``.
  case key(String)
  /// The server's orderly end of the stream, after which the stream does not reconnect. It marks no event, so it is
  /// refused as the mark of events that report errors (`invalid_option`).
  case close

  /// Makes the mark ``data(_:)`` from a literal: `until: "[DONE]"`.
  public init(stringLiteral data: String) { self = .data(data) }

  /// The mark as an error names it; `nil` if no event is needed.
  var text: String? {
    switch self {
    case .none, .close: nil
    case .data(let data): "the data \"\(data.prefix(80).escapedForDisplay)\""
    case .event(let name): "the event \"\(name.prefix(80).escapedForDisplay)\""
    case .key(let key): "an event with the key \"\(key.prefix(80).escapedForDisplay)\""
    }
  }

  /// Throws a refusal of a mark that no event has, if events with the mark report errors.
  func checkReportsErrors() throws(TransportError) {
    guard self == .close else { return }
    throw .refused(
      .invalidOption, "the mark for error events is .close, which no event has",
      hint: "give the event's name, its data or a key of its JSON object")
  }

  func matches(_ event: ServerSentEvent) -> Bool {
    switch self {
    case .none, .close: false
    case .data(let data): event.data == data
    case .event(let name): event.name == name
    case .key(let key):
      (try? JSONDecoder().decode(TopLevelKeys.self, from: Data(event.data.utf8)))?.names.contains(key) ?? false
    }
  }
}

/// The top-level keys of a JSON object whose values are not null. The values are not decoded.
private struct TopLevelKeys: Decodable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }

  var names: Set<String>

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    names = try Set(container.allKeys.filter { try !container.decodeNil(forKey: $0) }.map(\.stringValue))
  }
}
