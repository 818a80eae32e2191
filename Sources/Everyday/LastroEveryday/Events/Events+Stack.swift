// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

extension HTTPNetworkStack {
  /// Returns the server-sent events of a resource. The resource's model decoding is not used.
  ///
  /// ```swift
  /// let orders = stack.events(.get(url), lastEventID: saved, maximumReconnections: .max)
  /// ```
  ///
  /// Nothing is sent before the first event is requested; invalid values fail then, with code `invalid_option`. The
  /// timeouts are those for streams.
  ///
  /// Until the first event, `firstEvent` replaces the idle timeout, because a model may think for long before its first
  /// word. It may be shorter or longer, and it applies without an idle timeout too. From the first event on, only the
  /// idle timeout applies (`Timeouts.idle`, 60 s by default). That timeout is of the connection: it limits the time
  /// between bytes and not between events, so comments, by which servers keep connections alive, permit any time
  /// between events.
  ///
  /// Before the head, the idle timeout applies (code `idle_timeout`), or `firstEvent` if it is longer (code
  /// `first_event_timeout`). Without an idle timeout, only `Timeouts.attempt` and `total` limit the wait for the head.
  /// If `firstEvent` is `nil`, the idle timeout applies from the first byte of the body on. Until then a server may be
  /// silent for 5 min, or for the idle timeout if that is longer.
  ///
  /// - Parameters:
  ///   - resource: the resource to open; its request is made afresh for each connection.
  ///   - lastEventID: the identifier of the event after which to continue, which the first connection sends as
  ///     `Last-Event-ID`. Default: empty, which sends none. At most 4 KiB; control characters are refused.
  ///   - maximumReconnections: the maximum number of connections after the first one, or after the latest event. With
  ///     0, an orderly end of a connection ends the stream, and a loss is thrown. Default `nil`: 20 after a GET, and 0
  ///     after any other method, because a repeated POST may be processed, and charged for, twice. `.max` is no limit;
  ///     a negative number is refused.
  ///   - maximumEventBytes: the maximum size of an event's data in bytes. Default 8 MiB; at least 1. A larger event
  ///     ends the stream with stage `limit`, code `event_too_large`, without reconnecting, and so does an identifier
  ///     of more than 4 KiB.
  ///   - firstEvent: the maximum time from the head of each connection's response to its first event. Comments do not
  ///     count. If it passes, the connection fails with stage `timeout`, code `first_event_timeout`, which is temporary
  ///     like an idle timeout. Default `nil`: no limit but that of silence. Must be positive.
  public func events<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, lastEventID: String = "", maximumReconnections: Int? = nil,
    maximumEventBytes: Int = 8 << 20, firstEvent: Duration? = nil
  ) -> EventStream<ServerSentEvent, APIError> {
    var options = EventStreamOptions()
    options.lastEventID = lastEventID
    options.maximumReconnections = maximumReconnections
    options.maximumEventBytes = maximumEventBytes
    options.firstEvent = firstEvent
    return events(resource, options: options)
  }

  /// Returns the server-sent events of a resource, with all limits in one value.
  package func events<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, options: EventStreamOptions
  ) -> EventStream<ServerSentEvent, APIError> {
    EventStream(
      EventSource(call: StreamCall(resource, by: self), options: options),
      .events(EventModels(end: .none, failure: .none) { (event, _, _) throws(HTTPFetchError<APIError>) in event }))
  }
}

extension HTTPNetworkStack {
  /// Returns the models in a resource's JSON Lines, also known as NDJSON: one JSON text per line. The resource's own
  /// model decoding is not used.
  ///
  /// ```swift
  /// for try await part in stack.jsonLines(Part.self, of: .generate(prompt), until: \.done) { print(part.response) }
  /// ```
  ///
  /// Lines end in LF or CRLF; the last one may have no terminator. Empty lines are skipped. The content type is
  /// ignored, because services use many. The stream does not reconnect.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - resource: the resource, which is opened once.
  ///   - maximumTextBytes: the maximum size of a line in bytes. Default 1 MiB; at least 1. A larger one ends the stream
  ///     with stage `limit`, code `event_too_large`.
  ///   - firstText: the maximum time from the head of the response to the first JSON text, whatever other bytes arrive,
  ///     such as empty lines. If it passes, the stream fails with stage `timeout`, code `first_event_timeout`. Until
  ///     the first text it replaces the idle timeout, as `firstEvent` of `events` does. Default `nil`: no
  ///     limit but that of silence. Must be positive.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - isLast: returns whether a model is the last one. The stream ends with that model, and an end before it is a
  ///     failure with code `truncated_stream`. Default `nil`: the stream ends when the body ends.
  public func jsonLines<Line: Decodable & Sendable, Model, APIError>(
    _ type: Line.Type, of resource: HTTPResource<Model, APIError>, maximumTextBytes: Int = 1 << 20,
    firstText: Duration? = nil, decoder: JSONDecoder? = nil, until isLast: (@Sendable (Line) -> Bool)? = nil
  ) -> EventStream<Line, APIError> {
    let options = JSONStreamOptions(maximumTextBytes: maximumTextBytes, firstText: firstText)
    let models = JSONModels<Line>(options: options, decoding: .json(decoder: decoder), isLast: isLast)
    return EventStream(EventSource(call: StreamCall(resource, by: self)), .lines(models))
  }
}
