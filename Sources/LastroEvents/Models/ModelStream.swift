// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension EventStream {
  /// The models in the events' data, as JSON.
  ///
  /// ```swift
  /// let answer = stack.events(.completion(of: prompt))
  ///   .decoding(Chunk.self, until: .data("[DONE]"), failure: .key("error"))
  /// for try await chunk in answer { print(chunk.text, terminator: "") }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the model.
  ///   - names: the events that are decoded; others are passed over. Default `nil`: all but `ping`, and the end mark.
  ///     Events without data are passed over in any case.
  ///   - decoder: its settings must not change any more. Default: a shared one with default settings.
  ///   - end: what says that the stream is whole. Default: nothing.
  ///   - failure: which events are the API's errors. Default: none.
  public func decoding<Model: Decodable & Sendable>(
    _ type: Model.Type, names: Set<String>? = nil, decoder: JSONDecoder? = nil, until end: EndMark = .none,
    failure: FailureEvent = .none
  ) -> ModelStream<Model, APIError> {
    var events = self
    events.endsAtClose = end == .close
    return ModelStream(events: events, names: names, end: end, failure: failure, decoding: .json(decoder: decoder))
  }
}

/// Models out of server-sent events: what ``EventStream/decoding(_:names:decoder:until:failure:)`` makes.
///
/// It ends with its end mark, and the connection with it; without a mark, as its events end. Besides what the events
/// throw it throws:
///
/// - an end before the mark: stage `response`, code `truncated_stream`;
/// - an event that is the API's error: the reason is `http`, with the answer's status, which is 200, and the error as
///   the resource decodes it;
/// - data that does not decode: the reason is `decode`.
public struct ModelStream<Model: Decodable & Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// A model.
  public typealias Element = Model
  /// Why there are no more.
  public typealias Failure = HTTPFetchError<APIError>

  /// The events that the models are made of.
  public let events: EventStream<APIError>
  let names: Set<String>?
  let end: EndMark
  let failure: FailureEvent
  let decoding: HTTPModelDecoding<Model>

  /// Reads models; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: ModelStream
    var events: EventReader<APIError>
    var isOver = false

    /// The next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``ModelStream`` tells.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Model? { try await next(isolation: nil) }

    /// The next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``ModelStream`` tells.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> Model? {
      guard !isOver else { return nil }
      do throws(HTTPFetchError<APIError>) {
        if let model = try await find() { return model }
      } catch {
        finish()
        throw error
      }
      finish()
      return nil
    }
  }

  /// Makes the iterator, which connects when the first model is asked for.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(stream: self, events: EventReader(events, endMark: end.text))
  }
}

extension ModelStream.AsyncIterator {
  private mutating func finish() {
    isOver = true
    events.end()
  }

  private mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    while !isOver {
      guard let event = try await events.next() else { return nil }
      if stream.failure.matches(event) { throw apiFailure(event) }
      // What follows the mark is not read, whether the mark is decoded or not.
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

  /// Whether its data is the mark, which is no model.
  private func isMark(_ event: ServerSentEvent) -> Bool {
    if case .data = stream.end { stream.end.matches(event) } else { false }
  }

  private func decode(_ event: ServerSentEvent) throws(HTTPFetchError<APIError>) -> Model {
    guard let open = events.stream else { throw HTTPFetchError(.cancelled) }
    return try open.decode(Data(event.data.utf8), by: stream.decoding)
  }

  private func apiFailure(_ event: ServerSentEvent) -> HTTPFetchError<APIError> {
    let data = Data(event.data.utf8)
    guard let open = events.stream else { return HTTPFetchError(.cancelled) }
    let apiError = try? stream.events.call.resource.errorDecoding.decode(data, open.response)
    return open.failure(.http(open.response.status, apiError), about: data, cause: .failureEvent)
  }
}
