// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// The events of a stream that is open: the first one, and the reader of the others, which one iterator takes.
final class OpenedEvents<APIError: Error>: Sendable {
  struct Rest: Sendable {
    var first: ServerSentEvent?
    var reader: EventReader<APIError>
  }

  private let rest: Lock<Rest?>

  init(_ rest: Rest) { self.rest = Lock(rest) }

  /// Returns the events to the first caller, and `nil` to any other.
  func take() -> Rest? { rest.withLock { $0.take() } }
}

extension EventStream where Element == ServerSentEvent {
  /// Opens the stream, and returns its events once the first one has arrived or the server has ended the stream without
  /// one.
  ///
  /// A gateway opens the stream before it sends a status of its own, and hands the events on while it writes its body:
  ///
  /// ```swift
  /// let events = try await stack.events(.complete(prompt)).opened(until: "[DONE]")  // on failure: respond 429, 503 …
  /// for try await event in events { try await writer.write(event.wireText) }
  /// ```
  ///
  /// Iterate the events once, in any task; a second iterator ends at once. Leaving the loop, or dropping the value,
  /// closes the connection. ``response`` is `nil` if the server had no events (204). A stream that is open already is
  /// returned as it is.
  ///
  /// - Parameters:
  ///   - end: the event that completes the stream. It is the last one that is returned, and an end without it is an
  ///     error (`truncated_stream`). Default ``EventMark/none``.
  ///   - failure: the events that report errors of the API. Such an event is not returned: it is thrown with the reason
  ///     `http`, the response's status, which is 200, and the error as the resource decodes it. If it is the first
  ///     event, this function throws it. Default ``EventMark/none``: all events are returned.
  /// - Throws: the errors of the stream.
  public func opened(
    until end: EventMark = .none, failure: EventMark = .none
  ) async throws(HTTPFetchError<APIError>) -> Self {
    guard source.opened == nil else { return self }
    var source = self.source
    source.endsAtClose = end == .close
    var reader = EventReader(source, endMark: end.text, failureEvent: failure)
    let first = try await reader.next()
    source.opened = OpenedEvents(.init(first: first, reader: reader))
    let models = EventModels(end: end, failure: failure) { (event, _, _) throws(HTTPFetchError<APIError>) in event }
    return Self(source, .events(models))
  }
}
