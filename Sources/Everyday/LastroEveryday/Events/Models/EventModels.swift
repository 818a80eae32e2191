// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The models of server-sent events: the events, and the way in which they are decoded.
struct EventModels<Model: Decodable & Sendable, APIError: Error>: Sendable {
  let events: EventStream<APIError>
  let names: Set<String>?
  let end: EventMark
  let failure: EventMark
  let decoding: HTTPModelDecoding<Model>
}

/// A reader of models from the data of events.
struct EventModelReader<Model: Decodable & Sendable, APIError: Error> {
  let stream: EventModels<Model, APIError>
  var events: EventReader<APIError>
  var isOver = false

  init(_ stream: EventModels<Model, APIError>) {
    self.stream = stream
    events = EventReader(stream.events, endMark: stream.end.text, failureEvent: stream.failure)
  }
}

extension EventModelReader: ModelReader {
  mutating func finish() {
    isOver = true
    events.end()
  }

  mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    while !isOver {
      guard let event = try await events.next() else { return nil }
      // Nothing after the mark is read, whether or not the mark is decoded.
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

  /// Whether the event's data is the end mark, which is not a model.
  private func isMark(_ event: ServerSentEvent) -> Bool {
    if case .data = stream.end { stream.end.matches(event) } else { false }
  }

  private func decode(_ event: ServerSentEvent) throws(HTTPFetchError<APIError>) -> Model {
    guard let open = events.stream else { throw HTTPFetchError(.cancelled) }
    return try open.decode(Data(event.data.utf8), by: stream.decoding)
  }
}
