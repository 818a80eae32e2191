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
    _ type: Model.Type, names: Set<String>? = nil, decoder: JSONDecoder? = nil, until end: EventMark = .none,
    failure: EventMark = .none
  ) -> ModelStream<Model, APIError> {
    var events = self
    events.endsAtClose = end == .close
    let models = EventModels<Model, APIError>(
      events: events, names: names, end: end, failure: failure, decoding: .json(decoder: decoder))
    return ModelStream(.events(models))
  }
}

/// The models of a stream, as ``EventStream/decoding(_:names:decoder:until:failure:)`` of server-sent events, and
/// `jsonLines` and `jsonSequence` of a stack return them.
///
/// Nothing is sent before the first model is requested. It reads no more than the loop consumes. Leaving the loop
/// closes the connection, and so does cancelling the task. Iterate the stream once: a second iterator sends the request
/// again.
///
/// The stream ends with its end mark, or with the last model, and closes the connection; without these, it ends when
/// its events or its body end. Only events reconnect. In addition to the errors of opening a stream, and of the events,
/// it throws:
///
/// - for an end before the mark, or before the last model: stage `response`, code `truncated_stream`;
/// - for an event that reports an error of the API: the reason `http`, with the response's status, which is 200, and
///   the error as the resource decodes it;
/// - for a JSON text over the limit: stage `limit`, code `event_too_large`;
/// - for data that cannot be decoded: the reason `decode`.
public struct ModelStream<Model: Decodable & Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// The type of the models.
  public typealias Element = Model
  /// The error that ends the stream.
  public typealias Failure = HTTPFetchError<APIError>

  enum Source: Sendable {
    case events(EventModels<Model, APIError>)
    case texts(JSONModels<Model, APIError>)
  }

  private let source: Source

  init(_ source: Source) { self.source = source }

  /// The latest response that opened the stream, with the ledger of its call; `nil` before the first.
  public var response: ResourceResponse? {
    switch source {
    case .events(let models): models.events.response
    case .texts(let models): models.response
    }
  }

  /// An iterator over models, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// The reader of events, or else of texts. Each is changed in place, because a copy would copy what it has
    /// buffered.
    private var events: EventModelReader<Model, APIError>?
    private var texts: JSONModelReader<Model, APIError>?

    fileprivate init(_ source: Source) {
      switch source {
      case .events(let models): events = EventModelReader(models)
      case .texts(let models): texts = JSONModelReader(models)
      }
    }

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``ModelStream``.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Model? { try await next(isolation: nil) }

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``ModelStream``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> Model? {
      if let model = try await events?.nextOrEnd() { return model }
      return try await texts?.nextOrEnd()
    }
  }

  /// Creates an iterator, which connects when the first model is requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source) }
}
