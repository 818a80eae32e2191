// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Server-sent events (WHATWG HTML §9.2) of a resource, kept coming over lost connections.
///
/// ```swift
/// for try await event in stack.events(.get("https://api.example.org/orders/events")) {
///   print(event.name, event.data)
/// }
/// ```
///
/// Nothing is sent before the first event is asked for. Each connection is a call of the stack, with its interceptors,
/// authentication, retries and limits, of the resource's request with `Accept: text/event-stream` and
/// `Cache-Control: no-store`, unless it has these, and `Last-Event-ID` once there is one. No more is read than the
/// reader takes. Leaving the loop ends the connection; cancelling the task does, and ends a wait at once.
///
/// It ends when the server answers 204, or when what ended is not connected anew
/// (``EventStreamOptions/Reconnection-swift.enum``). Iterate it once: another iterator connects for itself.
///
/// An error is thrown when what failed does not pass by itself, such as a status 401 or another content type (code
/// `unexpected_content_type`), or may not be tried again; then it is the latest failure. Lost connections, idle
/// timeouts, and the statuses 429 and 5xx pass: the next connection comes after what the server set by `retry` (3 s
/// where it set nothing, 5 min at most) and a random addition, below that time multiplied by 2ⁿ − 1 and below 30 s,
/// where `n` connections were lost since the latest event. A `Retry-After` is not undercut. `Timeouts.total` is for all
/// connections together: no wait is begun that cannot end before.
public struct EventStream<APIError: Error>: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  /// Why there are no more.
  public typealias Failure = HTTPFetchError<APIError>

  let call: StreamCall<APIError>
  let options: EventStreamOptions
  let board = Watched(EventBoard())
  /// Whether the server's clean end is the end of the events, so that it is not connected anew.
  var endsAtClose = false

  init(_ call: StreamCall<APIError>, options: EventStreamOptions) {
    self.call = call
    self.options = options
  }

  /// What it is doing: a sequence of its own, which may be read meanwhile.
  public var states: EventStreamStates { EventStreamStates(board: board) }

  /// The latest answer that opened the stream, with the ledger of that call; `nil` before the first.
  public var response: ResourceResponse? { board.read(\.response) }

  /// Reads events; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var reader: EventReader<APIError>

    /// The next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``EventStream`` tells; the cancelled error when the task is cancelled.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      try await next(isolation: nil)
    }

    /// The next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``EventStream`` tells; the cancelled error when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      try await reader.next()
    }
  }

  /// Makes the iterator, which connects when the first event is asked for.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: EventReader(self)) }
}
