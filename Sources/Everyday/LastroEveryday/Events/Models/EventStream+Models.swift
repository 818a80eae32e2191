// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Lastro

extension EventStream where Element == ServerSentEvent {
  /// Returns the models in the events' data, decoded from JSON.
  ///
  /// ```swift
  /// let answer = stack.events(.completion(of: prompt))
  ///   .decoding(Chunk.self, until: "[DONE]", failure: .key("error"))
  /// for try await chunk in answer { print(chunk.text, terminator: "") }
  /// ```
  ///
  /// The stream ends with its end mark, and closes the connection; without a mark, it ends when its events end.
  ///
  /// - Parameters:
  ///   - type: the type of the models.
  ///   - names: the names of the events to decode; others are skipped. Default `nil`: all but `ping` and the end mark.
  ///     Events without data are always skipped.
  ///   - decoder: the decoder, whose settings must no longer change. Default: a shared one with default settings.
  ///   - end: the mark of a complete stream. Default: none, or that of ``opened(until:failure:)``.
  ///   - failure: the events that report errors of the API. Default: none, or those of ``opened(until:failure:)``.
  public func decoding<Model: Decodable & Sendable>(
    _ type: Model.Type, names: Set<String>? = nil, decoder: JSONDecoder? = nil, until end: EventMark = .none,
    failure: EventMark = .none
  ) -> EventStream<Model, APIError> {
    // A stream that is open keeps its marks unless others are given.
    let end = if end == .none, case .events(let opened) = elements { opened.end } else { end }
    let failure = if failure == .none, case .events(let opened) = elements { opened.failure } else { failure }
    var source = self.source
    source.endsAtClose = end == .close
    let decoding = HTTPModelDecoding<Model>.json(decoder: decoder)
    let models = EventModels<Model, APIError>(
      end: end, failure: failure
    ) { (event, isLast, open) throws(HTTPFetchError<APIError>) in
      guard event.isDecoded(names: names, end: end, isLast: isLast) else { return nil }
      return try open.decode(Data(event.data.utf8), by: decoding)
    }
    return EventStream<Model, APIError>(source, .events(models))
  }
}

extension ServerSentEvent {
  /// Whether the event has a model.
  ///
  /// - Parameters:
  ///   - names: the names of the events to decode; `nil` for all but `ping` and the end mark.
  ///   - end: the end mark.
  ///   - isLast: whether the event has the end mark.
  fileprivate func isDecoded(names: Set<String>?, end: EventMark, isLast: Bool) -> Bool {
    if data.isEmpty { return false }
    guard let names else { return name != "ping" && !isLast }
    // Data that is the end mark is not a model.
    if isLast, case .data = end { return false }
    return names.contains(name)
  }
}
