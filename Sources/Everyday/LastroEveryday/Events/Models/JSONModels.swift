// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
internal import LastroSupport
internal import LastroWire

/// The models of JSON Lines, or of a JSON text sequence: the request, and the way in which its body is read.
struct JSONModels<Model: Decodable & Sendable, APIError: Error>: Sendable {
  let call: StreamCall<APIError>
  let options: JSONStreamOptions
  let decoding: HTTPModelDecoding<Model>
  let isLast: (@Sendable (Model) -> Bool)?
  let latest = Lock<ResourceResponse?>(nil)

  var response: ResourceResponse? { latest.withLock { $0 } }
}

/// A reader of models from the JSON texts of a body.
struct JSONModelReader<Model: Decodable & Sendable, APIError: Error> {
  let stream: JSONModels<Model, APIError>
  var texts: JSONTextReader
  var open: OpenStream<APIError>?
  var isAtEnd = false
  var isOver = false

  init(_ stream: JSONModels<Model, APIError>) {
    self.stream = stream
    texts = JSONTextReader(stream.options)
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
