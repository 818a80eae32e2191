// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The way in which server-sent events become the elements of a stream.
struct EventModels<Model: Sendable, APIError: Error>: Sendable {
  let end: EventMark
  let failure: EventMark
  /// Returns the model of an event, which may have the end mark; `nil` for an event to skip.
  let model:
    @Sendable (_ event: ServerSentEvent, _ isLast: Bool, _ open: OpenStream<APIError>) throws(HTTPFetchError<APIError>)
      -> Model?
}

/// A reader of models from events.
struct EventModelReader<Model: Sendable, APIError: Error>: Sendable {
  private let models: EventModels<Model, APIError>
  /// The event that was read when the stream was opened, and the reader of the others, until they are taken.
  private var opened: OpenedEvents<APIError>.Rest?
  /// The reader of events; `nil` before the first event of an open stream, and if another iterator has taken it.
  private var events: EventReader<APIError>?
  private(set) var isOver = false

  init(_ source: EventSource<APIError>, _ models: EventModels<Model, APIError>) {
    self.models = models
    if let opened = source.opened {
      self.opened = opened.take()
    } else {
      events = EventReader(source, endMark: models.end.text, failureEvent: models.failure)
    }
  }
}

extension EventModelReader: ModelReader {
  mutating func finish() {
    isOver = true
    events?.end()
  }

  mutating func find() async throws(HTTPFetchError<APIError>) -> Model? {
    while !isOver {
      guard let event = try await next() else { return nil }
      let isLast = models.end.matches(event)
      // Nothing after the mark is read, whether or not the mark is a model.
      if isLast { finish() }
      if let open = events?.stream, let model = try models.model(event, isLast, open) { return model }
    }
    return nil
  }

  private mutating func next() async throws(HTTPFetchError<APIError>) -> ServerSentEvent? {
    guard let opened = self.opened.take() else { return try await events?.next() }
    var reader = opened.reader
    // The marks may differ from those with which the stream was opened.
    defer { events = reader }
    if let fault = reader.apply(until: models.end, failure: models.failure, toFirst: opened.first) { throw fault }
    return opened.first
  }
}
