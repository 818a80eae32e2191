// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Events of a stream that is open: its first event has arrived.
///
/// A gateway opens the stream before it sends a status of its own, and hands the events on while it writes its body:
///
/// ```swift
/// let events = try await stack.events(.complete(prompt)).opened(until: "[DONE]")  // on failure: respond 429, 503 …
/// for try await event in events { try await writer.write(event.wireText) }
/// ```
///
/// Iterate it once, in any task; a second iterator ends at once. Leaving the loop, or dropping the value, closes the
/// connection. The errors are those of ``EventStream``, and those that ``EventStream/opened(until:failure:)`` adds.
public struct OpenEvents<APIError: Error>: AsyncSequence, Sendable {
  /// The type of an event.
  public typealias Element = ServerSentEvent
  /// The error that ends the events.
  public typealias Failure = HTTPFetchError<APIError>

  fileprivate struct Rest: Sendable {
    var first: ServerSentEvent?
    var reader: EventReader<APIError>
    let end: EventMark
  }

  /// The response that opened the stream, with its head and the ledger of its call; `nil` if the server had no events
  /// (204).
  public let response: ResourceResponse?
  private let rest: Box

  fileprivate final class Box: Sendable {
    let value: Lock<Rest?>
    init(_ rest: Rest) { value = Lock(rest) }
  }

  fileprivate init(
    _ first: ServerSentEvent?, _ reader: EventReader<APIError>, until end: EventMark, response: ResourceResponse?
  ) {
    self.response = response
    rest = Box(Rest(first: first, reader: reader, end: end))
  }

  /// An iterator over the events, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var rest: Rest?

    fileprivate init(_ box: Box) { rest = box.value.withLock { $0.take() } }

    /// Returns the next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: the errors of ``EventStream``.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      try await next(isolation: nil)
    }

    /// Returns the next event; `nil` at the proper end, and after an error.
    ///
    /// - Throws: the errors of ``EventStream``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      guard let first = rest?.first.take() else { return try await read() }
      endIfMarked(by: first)
      return first
    }

    private mutating func read() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
      guard var reader = rest?.reader else { return nil }
      do throws(HTTPFetchError<APIError>) {
        let event = try await reader.next()
        rest?.reader = reader
        if let event { endIfMarked(by: event) } else { rest = nil }
        return event
      } catch {
        rest = nil
        throw error
      }
    }

    private mutating func endIfMarked(by event: ServerSentEvent) {
      guard rest?.end.matches(event) == true else { return }
      rest?.reader.end()
      rest = nil
    }
  }

  /// Creates the iterator over the events.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest) }
}

extension EventStream {
  /// Opens the stream, and returns once its first event has arrived or the server has ended it without one.
  ///
  /// - Parameters:
  ///   - end: the event that completes the stream. It is the last one that is returned, and an end without it is an
  ///     error (`truncated_stream`). Default ``EventMark/none``.
  ///   - failure: the events that report errors of the API. Such an event is not returned: it is thrown with the reason
  ///     `http`, the response's status, which is 200, and the error as the resource decodes it. If it is the first
  ///     event, this function throws it. Default ``EventMark/none``: all events are returned.
  /// - Throws: the errors of the stream.
  public func opened(
    until end: EventMark = .none, failure: EventMark = .none
  ) async throws(HTTPFetchError<APIError>) -> OpenEvents<APIError> {
    var stream = self
    stream.endsAtClose = end == .close
    var reader = EventReader(stream, endMark: end.text, failureEvent: failure)
    let first = try await reader.next()
    return OpenEvents(first, reader, until: end, response: response)
  }
}

extension ServerSentEvent {
  /// The event as a server writes it (WHATWG HTML §9.2.6): its fields in UTF-8, and an empty line. Line ends within the
  /// name or the identifier are left out, because they would begin another field.
  public var wireText: String {
    var text = ""
    let name = name.filter { !$0.isNewline }, id = lastEventID.filter { !$0.isNewline && $0 != "\0" }
    if name != "message", !name.isEmpty { text += "event: \(name)\n" }
    if !id.isEmpty { text += "id: \(id)\n" }
    for line in data.split(
      omittingEmptySubsequences: false, whereSeparator: { "\r\n" == $0 || "\n" == $0 || "\r" == $0 })
    { text += "data: \(line)\n" }
    return text + "\n"
  }
}
