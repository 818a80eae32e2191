// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// The server-sent events (WHATWG HTML §9.2) of a resource, with reconnection after lost connections.
///
/// ```swift
/// for try await event in stack.events(.get("https://api.example.org/orders/events")) {
///   print(event.name, event.data)
/// }
/// ```
///
/// Nothing is sent before the first event is requested. Each connection is a call of the stack, with its interceptors,
/// authentication, retries and limits. The resource's request is sent with `Accept: text/event-stream` and
/// `Cache-Control: no-store`, unless it has these fields, and with `Last-Event-ID` once there is an identifier. The
/// stream reads no more than the loop consumes. Leaving the loop closes the connection. Cancelling the task does so
/// too, and ends a wait immediately.
///
/// The stream ends when the server responds with 204, or when a connection ends and the stream does not reconnect
/// (``EventStreamOptions/Reconnection-swift.enum``). Iterate the stream once: a second iterator opens connections of
/// its own.
///
/// An error is thrown if a failure is permanent, such as a status 401 or another content type (code
/// `unexpected_content_type`), or if no further attempt is allowed; then it is the latest failure. Lost connections,
/// idle timeouts, and the statuses 429 and 5xx are temporary. The next connection then follows after the time that the
/// server set by `retry` (3 s by default, at most 5 min) and a random addition. The addition is below that time
/// multiplied by 2ⁿ − 1, and below 30 s, where `n` is the number of connections lost since the latest event. The wait
/// is never shorter than a `Retry-After`. `Timeouts.total` covers all connections together: no wait begins that cannot
/// end before it passes.
public struct EventStream<APIError: Error>: AsyncSequence, Sendable {
  /// The type of an event.
  public typealias Element = ServerSentEvent
  /// The error that ends the stream.
  public typealias Failure = HTTPFetchError<APIError>

  let call: StreamCall<APIError>
  let options: EventStreamOptions
  let board = Watched(EventBoard())
  /// Whether the server's orderly end is the end of the events, so that the stream does not reconnect.
  var endsAtClose = false

  init(_ call: StreamCall<APIError>, options: EventStreamOptions) {
    self.call = call
    self.options = options
  }

  /// The states of the stream, as a separate sequence that can be read at the same time.
  ///
  /// It starts with the current state, and ends after ``EventStreamState/ended``, or early in a cancelled task. A slow
  /// reader gets the latest 16 states. The sequence neither connects nor keeps the stream open.
  public var states: some AsyncSequence<EventStreamState, Never> & Sendable { EventStreamStates(board: board) }

  /// The latest response that opened the stream, with the ledger of its call; `nil` before the first.
  public var response: ResourceResponse? { board.read(\.response) }

  /// An iterator over events, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var reader: EventReader<APIError>

    /// Returns the next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``EventStream``; the cancellation error if the task is cancelled.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      try await next(isolation: nil)
    }

    /// Returns the next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``EventStream``; the cancellation error if the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      try await reader.next()
    }
  }

  /// Creates an iterator, which connects when the first event is requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: EventReader(self)) }
}
