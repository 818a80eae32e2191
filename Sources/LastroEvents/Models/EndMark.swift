// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What says that a stream of models is whole, as service and caller have agreed.
///
/// An end without it is a failure, code `truncated_stream`: what a proxy closes politely must not make half an answer
/// look whole.
public enum EndMark: Sendable, Hashable {
  /// Nothing: it ends as its events end.
  case none
  /// An event whose data is exactly this, such as `[DONE]`. It is not decoded.
  case data(String)
  /// An event of this name, such as `message_stop`. It is decoded where it is named among those that are, as one that
  /// carries the sum of an answer has to be.
  case event(String)
  /// The server's clean end: no connection follows it.
  case close

  /// As an error's text names it; `nil` where the end needs no mark.
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
