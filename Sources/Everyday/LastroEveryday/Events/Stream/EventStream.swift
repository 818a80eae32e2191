// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// The elements that a server sends in one response, or in several: server-sent events (WHATWG HTML §9.2), the models
/// in their data, or the models of JSON Lines.
///
/// ```swift
/// for try await event in stack.events(.get("https://api.example.org/orders/events")) {
///   print(event.name, event.data)
/// }
/// ```
///
/// `events` of a stack returns events, ``decoding(_:names:decoder:until:failure:)`` their models, and `jsonLines` of a
/// stack the models of lines.
///
/// Nothing is sent before the first element is requested, except by ``opened(until:failure:)``. Each connection is a
/// call of the stack, with its interceptors, authentication, retries and limits. The stream reads no more than the loop
/// consumes. Leaving the loop closes the connection. Cancelling the task does so too, and ends a wait immediately.
/// Iterate the stream once: a second iterator opens connections of its own, or ends at once if the stream was opened
/// before.
///
/// A request for events is sent with `Accept: text/event-stream` and `Cache-Control: no-store`, unless it has these
/// fields, and with `Last-Event-ID` once there is an identifier. Only streams of events reconnect, after lost
/// connections. Such a stream ends when the server responds with 204, or when a connection ends and the stream does not
/// reconnect (`maximumReconnections`).
///
/// An error is thrown if a failure is permanent, such as a status 401 or another content type (code
/// `unexpected_content_type`), or if no further attempt is allowed; then it is the latest failure. Lost connections,
/// idle timeouts, and the statuses 429 and 5xx are temporary. The next connection then follows after the time that the
/// server set by `retry` (3 s by default, 100 ms to 5 min) and a random addition. The addition is below that time
/// multiplied by 2ⁿ − 1, and below 30 s, where `n` is the number of connections lost since the latest event. The wait
/// is never shorter than a `Retry-After`. `Timeouts.total` covers all connections together: no wait begins that cannot
/// end before it passes.
///
/// The stream also throws:
///
/// - for an end before the end mark, or before the last model: stage `response`, code `truncated_stream`;
/// - for an event that reports an error of the API: the reason `http`, with the response's status, which is 200, and
///   the error as the resource decodes it;
/// - for an event or a line over its limit: stage `limit`, code `event_too_large`;
/// - for data that cannot be decoded: the reason `decode`.
public struct EventStream<Element: Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// The error that ends the stream.
  public typealias Failure = HTTPFetchError<APIError>

  /// The way in which the connections' bodies become elements.
  enum Elements: Sendable {
    case events(EventModels<Element, APIError>)
    case lines(JSONModels<Element>)
  }

  let source: EventSource<APIError>
  let elements: Elements

  init(_ source: EventSource<APIError>, _ elements: Elements) {
    self.source = source
    self.elements = elements
  }

  /// The latest response that opened the stream, with the ledger of its call; `nil` before the first.
  public var response: ResourceResponse? { source.board.read(\.response) }

  /// An iterator over elements, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// The reader of events, or else of lines. Each is changed in place, because a copy would copy what it has
    /// buffered.
    private var events: EventModelReader<Element, APIError>?
    private var lines: JSONModelReader<Element, APIError>?

    fileprivate init(_ stream: EventStream<Element, APIError>) {
      switch stream.elements {
      case .events(let models): events = EventModelReader(stream.source, models)
      case .lines(let models): lines = JSONModelReader(stream.source, models)
      }
    }

    /// Returns the next element; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``EventStream``; the cancellation error if the task is cancelled.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Element? { try await next(isolation: nil) }

    /// Returns the next element; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``EventStream``; the cancellation error if the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> Element? {
      if let element = try await events?.nextOrEnd() { return element }
      return try await lines?.nextOrEnd()
    }
  }

  /// Creates an iterator, which connects when the first element is requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension EventStream where Element == ServerSentEvent {
  /// The states of the stream, as a separate sequence that can be read at the same time.
  ///
  /// It starts with the current state, and ends after ``EventStreamState/ended``, or early in a cancelled task. A slow
  /// reader gets the latest 16 states. The sequence neither connects nor keeps the stream open.
  public var states: some AsyncSequence<EventStreamState, Never> & Sendable {
    EventStreamStates(board: source.board)
  }
}
