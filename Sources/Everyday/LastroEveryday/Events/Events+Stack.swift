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
  /// Returns the models in a resource's JSON Lines (NDJSON) or JSON text sequence (RFC 7464). The resource's own model
  /// decoding is not used.
  ///
  /// ```swift
  /// for try await part in stack.jsonLines(Part.self, of: .generate(prompt), until: \.done) { print(part.response) }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - resource: the resource, which is opened once.
  ///   - options: the framing and limits. Default: lines of at most 1 MiB.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - isLast: returns whether a model is the last one. The stream ends with that model, and an end before it is a
  ///     failure with code `truncated_stream`. Default `nil`: the stream ends when the body ends.
  public func jsonLines<Line: Decodable & Sendable, Model, APIError>(
    _ type: Line.Type, of resource: HTTPResource<Model, APIError>, options: JSONStreamOptions = JSONStreamOptions(),
    decoder: JSONDecoder? = nil, until isLast: (@Sendable (Line) -> Bool)? = nil
  ) -> JSONStream<Line, APIError> {
    JSONStream(
      call: StreamCall(resource, by: self), options: options, decoding: .json(decoder: decoder), isLast: isLast)
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
