// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension HTTPNetworkStack {
  /// The server-sent events of a resource. Its model decoding is not used.
  ///
  /// Nothing is sent before the first event is asked for, and bad options fail then, with code `invalid_option`. The
  /// timeouts are those for streams, `Timeouts.idle` from the first byte on.
  ///
  /// - Parameters:
  ///   - resource: made anew for each connection.
  ///   - options: default: a GET is connected anew, anything else is not.
  public func events<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, options: EventStreamOptions = EventStreamOptions()
  ) -> EventStream<APIError> {
    EventStream(StreamCall(resource, by: self), options: options)
  }

  /// The server-sent events of a request; see ``events(_:options:)``.
  ///
  /// - Parameters:
  ///   - request: sent by each connection.
  ///   - options: default: a GET is connected anew, anything else is not.
  ///   - errorDecoding: decodes answers outside 200–299. Default: as text.
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
  /// The models in the JSON Lines (NDJSON) of a resource, or in its JSON text sequence (RFC 7464). Its own model
  /// decoding is not used.
  ///
  /// ```swift
  /// for try await part in stack.jsonLines(Part.self, of: .generate(prompt), until: \.done) { print(part.response) }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the model.
  ///   - resource: what is opened, once.
  ///   - options: framing and limits. Default: lines, of 1 MiB at most.
  ///   - decoder: its settings must not change any more. Default: a shared one with default settings.
  ///   - isLast: whether a model is the last of a whole stream, which ends with it; an end before it is then a failure,
  ///     code `truncated_stream`. Default `nil`: it ends as the body ends.
  public func jsonLines<Line: Decodable & Sendable, Model, APIError>(
    _ type: Line.Type, of resource: HTTPResource<Model, APIError>, options: JSONStreamOptions = JSONStreamOptions(),
    decoder: JSONDecoder? = nil, until isLast: (@Sendable (Line) -> Bool)? = nil
  ) -> JSONStream<Line, APIError> {
    JSONStream(
      call: StreamCall(resource, by: self), options: options, decoding: .json(decoder: decoder), isLast: isLast)
  }

  /// The lines of a resource's body as texts, while they come. Its own model decoding is not used.
  ///
  /// ```swift
  /// for try await line in try await stack.lines(of: .get("https://example.com/log")) { print(line) }
  /// ```
  ///
  /// - Parameters:
  ///   - resource: what is opened, once.
  ///   - maximumBytes: of one line, without its end. Default: 1 MiB.
  /// - Throws: as `stream(_:)`, where there is no answer 2xx; what reading throws, ``TextLines`` tells.
  public func lines<Model, APIError>(
    of resource: HTTPResource<Model, APIError>, maximumBytes: Int = 1 << 20
  ) async throws(HTTPFetchError<APIError>) -> TextLines {
    try await stream(resource).value.lines(maximumBytes: maximumBytes)
  }
}
