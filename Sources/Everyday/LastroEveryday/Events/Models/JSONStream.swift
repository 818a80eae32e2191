// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Lastro
internal import LastroSupport
internal import LastroWire

/// The models of JSON Lines, or of a JSON text sequence, as a stack's `jsonLines` returns them.
///
/// Nothing is sent before the first model is requested, and the stream does not reconnect. It reads no more than the
/// loop consumes. Leaving the loop closes the connection, and so does cancelling the task. The content type is ignored,
/// because services use many. Iterate the stream once: a second iterator sends the request again.
///
/// In addition to the errors of opening a stream, it throws errors for an end before the last model, code
/// `truncated_stream`; for a text over the limit, stage `limit`, code `event_too_large`; and for a text that cannot be
/// decoded, reason `decode`.
public struct JSONStream<Model: Decodable & Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// The type of the models.
  public typealias Element = Model
  /// The error that ends the stream.
  public typealias Failure = HTTPFetchError<APIError>

  let call: StreamCall<APIError>
  let options: JSONStreamOptions
  let decoding: HTTPModelDecoding<Model>
  let isLast: (@Sendable (Model) -> Bool)?
  let latest = Lock<ResourceResponse?>(nil)

  /// The response that opened the stream, with the ledger of the call; `nil` before that.
  public var response: ResourceResponse? { latest.withLock { $0 } }

  /// An iterator over models, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: JSONStream
    var texts: JSONTextReader
    var open: OpenStream<APIError>?
    var isAtEnd = false
    var isOver = false

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``JSONStream``.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Model? { try await next(isolation: nil) }

    /// Returns the next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as described for ``JSONStream``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(HTTPFetchError<APIError>) -> Model? { try await nextOrEnd() }
  }

  /// Creates an iterator, which connects when the first model is requested.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self, texts: JSONTextReader(options)) }
}

extension JSONStream.AsyncIterator: ModelReader {
  mutating func finish() {
    isOver = true
    // The body counts as complete, unless a failure was found before.
    open?.body.finish()
  }

  mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    if open == nil { try await connect() }
    while true {
      if let text = try text() {
        open?.body.noteElement()
        return try model(text)
      }
      if isAtEnd {
        guard stream.isLast != nil else { return nil }
        throw failure(.cutBeforeEnd("the last model"))
      }
      try await read()
    }
  }

  private mutating func connect() async throws(HTTPFetchError<APIError>) {
    let options = stream.options
    do throws(TransportError) { try options.check() } catch { throw HTTPFetchError(.noRequest(error)) }
    let answer = try await stream.call.open(first: options.firstElement, left: nil, facts: Lock(nil)) {
      $0.askForJSON(options.framing)
    }
    stream.latest.withLock { $0 = answer.response }
    open = answer
  }

  private mutating func read() async throws(HTTPFetchError<APIError>) {
    do throws(TransportError) {
      if let bytes = try await open?.body.next() { texts.feed(bytes) } else { isAtEnd = true }
    } catch {
      throw failure(error)
    }
  }

  private mutating func text() throws(HTTPFetchError<APIError>) -> [UInt8]? {
    do throws(JSONTextViolation) {
      return try texts.next(isAtEnd: isAtEnd)
    } catch {
      throw failure(.unreadable(error))
    }
  }

  private mutating func model(_ text: [UInt8]) throws(HTTPFetchError<APIError>) -> Model {
    guard let open else { throw HTTPFetchError(.cancelled) }
    let model = try open.decode(Data(text), by: stream.decoding)
    if stream.isLast?(model) ?? false { finish() }
    return model
  }

  private func failure(_ error: TransportError) -> HTTPFetchError<APIError> {
    open?.failure(error) ?? HTTPFetchError(between: error, after: nil)
  }
}
