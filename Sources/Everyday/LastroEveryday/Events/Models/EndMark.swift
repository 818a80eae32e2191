// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The sign by which a service marks a stream of models as complete.
///
/// An end without it is a failure with code `truncated_stream`: if a proxy closes the stream in an orderly way, half a
/// response must not look complete.
public enum EndMark: Sendable, Hashable, ExpressibleByStringLiteral {
  /// No mark: the stream ends when its events end.
  case none
  /// An event whose data is exactly this text, such as `[DONE]`. It is not decoded.
  case data(String)
  /// An event with this name, such as `message_stop`. It is decoded if its name is among the decoded ones, as is needed
  /// for an event that summarizes the response.
  case event(String)
  /// The server's orderly end of the stream, after which the stream does not reconnect.
  case close

  /// Makes the mark ``data(_:)`` from a literal: `until: "[DONE]"`.
  public init(stringLiteral data: String) { self = .data(data) }

  /// The mark as an error names it; `nil` if no mark is needed.
  var text: String? {
    switch self {
    case .none, .close: nil
    case .data(let data): "the data \"\(data.prefix(80).escapedForDisplay)\""
    case .event(let name): "the event \"\(name.prefix(80).escapedForDisplay)\""
    }
  }

  func matches(_ event: ServerSentEvent) -> Bool {
    switch self {
    case .none, .close: false
    case .data(let data): event.data == data
    case .event(let name): event.name == name
    }
  }
}
