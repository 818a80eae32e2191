// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Models out of JSON Lines, or of a JSON text sequence: what `jsonLines` of a stack makes.
///
/// Nothing is sent before the first model is asked for; nothing is connected anew. No more is read than the reader
/// takes. Leaving the loop ends the connection, and so does cancelling the task. The content type does not matter:
/// services give many. Iterate it once: another iterator asks for itself.
///
/// Besides what opening a stream throws it throws: an end before the last model, code `truncated_stream`; a text over
/// the limit, stage `limit`, code `event_too_large`; one that does not decode, reason `decode`.
public struct JSONStream<Model: Decodable & Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// A model.
  public typealias Element = Model
  /// Why there are no more.
  public typealias Failure = HTTPFetchError<APIError>

  let call: StreamCall<APIError>
  let options: JSONStreamOptions
  let decoding: HTTPModelDecoding<Model>
  let isLast: (@Sendable (Model) -> Bool)?
  let latest = Lock<ResourceResponse?>(nil)

  /// The answer that opened the stream, with the ledger of the call; `nil` before that.
  public var response: ResourceResponse? { latest.withLock { $0 } }

  /// Reads models; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let stream: JSONStream
    var texts: JSONTextReader
    var open: OpenStream<APIError>?
    var isAtEnd = false
    var isOver = false

    /// The next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``JSONStream`` tells.
    public mutating func next() async throws(HTTPFetchError<APIError>) -> Model? { try await next(isolation: nil) }

    /// The next model; `nil` at the proper end, and after an error.
    ///
    /// - Throws: `HTTPFetchError`, as ``JSONStream`` tells.
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
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self, texts: JSONTextReader(options)) }
}

extension JSONStream.AsyncIterator {
  private mutating func finish() {
    isOver = true
    // Whole, unless a failure was found before.
    open?.body.finish()
  }

  private mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    if open == nil { try await connect() }
    while true {
      if let text = try text() { return try model(text) }
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
    let answer = try await stream.call.open(firstByte: options.firstText, left: nil, facts: Lock(nil)) {
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
