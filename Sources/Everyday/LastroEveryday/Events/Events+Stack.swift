// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

extension HTTPNetworkStack {
  /// Returns the server-sent events of a resource. The resource's model decoding is not used.
  ///
  /// Nothing is sent before the first event is requested; invalid options fail then, with code `invalid_option`. The
  /// timeouts are those for streams; ``EventStreamOptions/firstEvent`` describes which of them limits a silence.
  ///
  /// - Parameters:
  ///   - resource: the resource to open; its request is made afresh for each connection.
  ///   - options: the options of the stream. Default: a GET reconnects, any other method does not.
  public func events<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, options: EventStreamOptions = EventStreamOptions()
  ) -> EventStream<APIError> {
    EventStream(StreamCall(resource, by: self), options: options)
  }

  /// Returns the server-sent events of a request; see ``events(_:options:)``.
  ///
  /// - Parameters:
  ///   - request: the request that each connection sends.
  ///   - options: the options of the stream. Default: a GET reconnects, any other method does not.
  ///   - errorDecoding: decodes responses outside 200–299. Default: as text.
  public func events<APIError>(
    _ request: ResourceRequest, options: EventStreamOptions = EventStreamOptions(),
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse> = ErrorDecoding<TextAPIError, Data, ResourceResponse>
      .text
  ) -> EventStream<APIError> {
    events(
      HTTPResource(
        baseRequestMaking: .request(request), decoding: HTTPModelDecoding<ResponseBody>.streamed,
        errorDecoding: errorDecoding), options: options)
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
  ///     the first text it replaces the idle timeout, as ``EventStreamOptions/firstEvent`` does. Default `nil`: no
  ///     limit but that of silence. Must be positive.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - isLast: returns whether a model is the last one. The stream ends with that model, and an end before it is a
  ///     failure with code `truncated_stream`. Default `nil`: the stream ends when the body ends.
  public func jsonLines<Line: Decodable & Sendable, Model, APIError>(
    _ type: Line.Type, of resource: HTTPResource<Model, APIError>, maximumTextBytes: Int = 1 << 20,
    firstText: Duration? = nil, decoder: JSONDecoder? = nil, until isLast: (@Sendable (Line) -> Bool)? = nil
  ) -> ModelStream<Line, APIError> {
    var options = JSONStreamOptions()
    options.maximumTextBytes = maximumTextBytes
    options.firstText = firstText
    return jsonLines(type, of: resource, options: options, decoder: decoder, until: isLast)
  }

  /// Returns the models in a resource's JSON text sequence (RFC 7464): a record separator before each text, and LF
  /// after it. A text that is or may be truncated, such as a number without an LF after it, fails with code
  /// `truncated_stream`.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - resource: the resource, which is opened once.
  ///   - maximumTextBytes: the maximum size of a text in bytes, as for lines. Default 1 MiB.
  ///   - firstText: the maximum time from the head of the response to the first text, as for lines. Default `nil`.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - isLast: returns whether a model is the last one, as for lines. Default `nil`: the stream ends when the body
  ///     ends.
  public func jsonSequence<Text: Decodable & Sendable, Model, APIError>(
    _ type: Text.Type, of resource: HTTPResource<Model, APIError>, maximumTextBytes: Int = 1 << 20,
    firstText: Duration? = nil, decoder: JSONDecoder? = nil, until isLast: (@Sendable (Text) -> Bool)? = nil
  ) -> ModelStream<Text, APIError> {
    var options = JSONStreamOptions(framing: .textSequence)
    options.maximumTextBytes = maximumTextBytes
    options.firstText = firstText
    return jsonLines(type, of: resource, options: options, decoder: decoder, until: isLast)
  }

  func jsonLines<Line: Decodable & Sendable, Model, APIError>(
    _ type: Line.Type, of resource: HTTPResource<Model, APIError>, options: JSONStreamOptions,
    decoder: JSONDecoder? = nil, until isLast: (@Sendable (Line) -> Bool)? = nil
  ) -> ModelStream<Line, APIError> {
    let models = JSONModels<Line, APIError>(
      call: StreamCall(resource, by: self), options: options, decoding: .json(decoder: decoder), isLast: isLast)
    return ModelStream(.texts(models))
  }

  /// Returns the lines of a resource's body as they arrive. The resource's own model decoding is not used.
  ///
  /// ```swift
  /// for try await line in try await stack.lines(of: .get("https://example.com/log")) { print(line) }
  /// ```
  ///
  /// - Parameters:
  ///   - resource: the resource, which is opened once.
  ///   - maximumBytes: the maximum size of a line, without its terminator. Default: 1 MiB.
  /// - Throws: the errors of `stream(_:)`, if there is no 2xx response. Reading throws the errors of
  ///   `lines(maximumBytes:)` of `ResponseBody`.
  public func lines<Model, APIError>(
    of resource: HTTPResource<Model, APIError>, maximumBytes: Int = 1 << 20
  ) async throws(HTTPFetchError<APIError>) -> some AsyncSequence<String, TransportError> & Sendable {
    try await stream(resource).value.lines(maximumBytes: maximumBytes)
  }
}
