// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEvents
import LastroSupport
import LastroTesting
import TestSupport

extension ScriptedTransport.Step {
  /// An answer of events, which comes in these pieces and then ends, or fails.
  static func events(
    _ pieces: String..., type: String? = "text/event-stream", status: Int = 200, failure: TransportError? = nil
  ) -> Self {
    .perform { _ throws(TransportError) in
      .events(source: ChunkSource(pieces.map { Data($0.utf8) }, failure: failure), type: type, status: status)
    }
  }

  /// An answer of events that the test feeds.
  static func events(_ source: FedSource) -> Self { .perform { _ throws(TransportError) in .events(source: source) } }

  /// Events of which the connection is then lost.
  static func lost(_ pieces: String...) -> Self {
    .perform { _ throws(TransportError) in
      .events(source: ChunkSource(pieces.map { Data($0.utf8) }, failure: .lost))
    }
  }
}

extension TransferResponse {
  static func events(
    source: any ResponseBodySource, type: String? = "text/event-stream", status: Int = 200
  ) -> Self {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = type
    return TransferResponse(head: head, body: ResponseBody(source: source))
  }
}

extension TransportError {
  static let lost = TransportError(
    stage: .response, code: .connectionLost, message: "the connection was lost", requestSent: true)
}

/// A streamed body that the test feeds.
final class FedSource: ResponseBodySource {
  private struct State: Sendable {
    var pieces: [Data] = []
    var end: Result<Void, TransportError>?
    var isCancelled = false
    var reads = 0
  }

  private let state = Watched(State())

  var finalFacts: TransferFacts? { nil }
  var isCancelled: Bool { state.read(\.isCancelled) }
  /// How often it was asked for more.
  var reads: Int { state.read(\.reads) }

  func feed(_ text: String) { state.change { $0.pieces.append(Data(text.utf8)) } }
  func end(_ failure: TransportError? = nil) { state.change { $0.end = failure.map { .failure($0) } ?? .success(()) } }
  func cancel() { state.change { $0.isCancelled = true } }
  func waitForReads(_ count: Int) async { _ = await state.wait { $0.reads >= count } }

  func next() async throws(TransportError) -> Data? {
    state.change { $0.reads += 1 }
    let isThere = await state.wait { !$0.pieces.isEmpty || $0.end != nil || $0.isCancelled }
    if !isThere || isCancelled { throw .cancelled(requestSent: true) }
    if let piece = state.change({ $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }) { return piece }
    try state.read(\.end)?.get()
    return nil
  }
}

/// A stack whose random additions are half of their range.
func eventStack(
  _ transport: ScriptedTransport, clock: ManualClock = ManualClock(autoAdvance: true),
  interceptors: [any HTTPResourceInterceptor] = [], configure: (inout StackConfiguration) -> Void = { _ in }
) -> TransportNetworkStack {
  TransportNetworkStack(transport, time: clock.timeSource, interceptors: interceptors) {
    $0.randomSource = RandomSource { 1 << 63 }
    configure(&$0)
  }
}

extension EventStream {
  /// Its events until it ends, `count` of them at most, and stage and code of the error that it ends with.
  func read(_ count: Int = .max) async -> (events: [ServerSentEvent], error: HTTPFetchError<APIError>?) {
    var events: [ServerSentEvent] = []
    var iterator = makeAsyncIterator()
    do throws(HTTPFetchError<APIError>) {
      while events.count < count, let event = try await iterator.next() { events.append(event) }
    } catch {
      return (events, error)
    }
    return (events, nil)
  }

  /// The data of its events, and stage and code of the error that it ends with.
  func data(_ count: Int = .max) async -> [String] {
    let (events, error) = await read(count)
    return events.map(\.data) + (error.map { [$0.words] } ?? [])
  }
}

extension AsyncSequence where Element: Sendable {
  /// What it gives, and stage and code of the error that it ends with.
  func outcome<APIError>() async -> (elements: [Element], error: HTTPFetchError<APIError>?)
  where Failure == HTTPFetchError<APIError> {
    var elements: [Element] = []
    var iterator = makeAsyncIterator()
    do throws(HTTPFetchError<APIError>) {
      while let element = try await iterator.next(isolation: nil) { elements.append(element) }
    } catch {
      return (elements, error)
    }
    return (elements, nil)
  }
}

extension TransferRequest {
  var lastEventID: String? { head.headerFields.first { $0.name.rawName == "Last-Event-ID" }?.value }
}
