// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

extension EventStream {
  /// Returns the models in the events' data, decoded from JSON.
  ///
  /// ```swift
  /// let answer = stack.events(.completion(of: prompt))
  ///   .decoding(Chunk.self, until: "[DONE]", failure: .key("error"))
  /// for try await chunk in answer { print(chunk.text, terminator: "") }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - names: the names of the events to decode; others are skipped. Default `nil`: all but `ping` and the end mark.
  ///     Events without data are always skipped.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - end: the mark of a complete stream. Default: none.
  ///   - failure: the events that report errors of the API. Default: none.
  public func decoding<Model: Decodable & Sendable>(
    _ type: Model.Type, names: Set<String>? = nil, decoder: JSONDecoder? = nil, until end: EndMark = .none,
    failure: FailureEvent = .none
  ) -> ModelStream<Model, APIError> {
    var events = self
    events.endsAtClose = end == .close
    return ModelStream(events: events, names: names, end: end, failure: failure, decoding: .json(decoder: decoder))
  }
}

/// The models of server-sent events, as ``EventStream/decoding(_:names:decoder:until:failure:)`` returns them.
///
/// The stream ends with its end mark, and closes the connection; without a mark, it ends when its events end. In
/// addition to the errors of the events, it throws:
///
/// - for an end before the mark: stage `response`, code `truncated_stream`;
/// - for an event that reports an error of the API: the reason `http`, with the response's status, which is 200, and
///   the error as the resource decodes it;
/// - for data that cannot be decoded: the reason `decode`.
public struct ModelStream<Model: Decodable & Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// The type of the models.
  public typealias Element = Model
  /// The error that ends the stream.
  public typealias Failure = HTTPFetchError<APIError>

  /// The events that contain the models.
  public let events: EventStream<APIError>
  let names: Set<String>?
  let end: EndMark
  let failure: FailureEvent
  let decoding: HTTPModelDecoding<Model>

  /// An iterator over models, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: ModelStream
    var events: EventReader<APIError>
    var isOver = false

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``ModelStream``.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Model? { try await next(isolation: nil) }

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``ModelStream``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> Model? { try await nextOrEnd() }
  }

  /// Creates an iterator, which connects when the first model is requested.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(stream: self, events: EventReader(events, endMark: end.text, failureEvent: failure))
  }
}

extension ModelStream.AsyncIterator: ModelReader {
  mutating func finish() {
    isOver = true
    events.end()
  }

  mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    while !isOver {
      guard let event = try await events.next() else { return nil }
      // Nothing after the mark is read, whether or not the mark is decoded.
      if stream.end.matches(event) { finish() }
      if isDecoded(event) { return try decode(event) }
    }
    return nil
  }

  private func isDecoded(_ event: ServerSentEvent) -> Bool {
    if event.data.isEmpty { return false }
    if let names = stream.names { return names.contains(event.name) && !isMark(event) }
    return event.name != "ping" && !isOver
  }

  /// Whether the event's data is the end mark, which is not a model.
  private func isMark(_ event: ServerSentEvent) -> Bool {
    if case .data = stream.end { stream.end.matches(event) } else { false }
  }

  private func decode(_ event: ServerSentEvent) throws(HTTPFetchError<APIError>) -> Model {
    guard let open = events.stream else { throw HTTPFetchError(.cancelled) }
    return try open.decode(Data(event.data.utf8), by: stream.decoding)
  }
}
