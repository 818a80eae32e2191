// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
internal import LastroSupport
internal import LastroWire

/// The way in which JSON Lines become the elements of a stream.
struct JSONModels<Model: Sendable>: Sendable {
  let options: JSONStreamOptions
  let decoding: HTTPModelDecoding<Model>
  let isLast: (@Sendable (Model) -> Bool)?
}

/// A reader of models from the lines of a body. The received part of a line stays in the machine's buffer: copying it
/// for each new piece would take quadratic time.
struct JSONModelReader<Model: Sendable, APIError: Error> {
  let source: EventSource<APIError>
  let stream: JSONModels<Model>
  var texts: JSONLinesMachine
  var open: OpenStream<APIError>?
  var isAtEnd = false
  var isOver = false

  init(_ source: EventSource<APIError>, _ stream: JSONModels<Model>) {
    self.source = source
    self.stream = stream
    texts = JSONLinesMachine(maximumTextBytes: stream.options.maximumTextBytes)
  }
}

extension JSONModelReader: ModelReader {
  mutating func finish() {
    isOver = true
    // The body counts as complete, unless a failure was found before.
    open?.body.finish()
  }

  mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    if open == nil { try await connect() }
    while true {
      if let text = try text() {
        open?.body.endFirstElementLimit()
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
    let answer = try await source.call.open(first: options.firstElement, left: nil, facts: Lock(nil)) {
      $0.askForJSONLines()
    }
    source.board.change { $0.response = answer.response }
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
    do throws(LineCutter.LineTooLong) {
      if let text = try texts.next() { return text }
    } catch {
      throw failure(.textTooLong(error.maximum))
    }
    return isAtEnd ? texts.finish() : nil
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
