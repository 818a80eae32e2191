// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
import LastroSupport
package import LastroTesting

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension TransportNetworkStack {
  /// A stack over a script, on a clock that waits do not hold up.
  package static func observed(
    _ transport: any Transport, by observers: any FetchObserver..., clock: ManualClock = ManualClock(autoAdvance: true),
    interceptors: [any HTTPResourceInterceptor] = [], configure: (inout StackConfiguration) -> Void = { _ in }
  ) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.randomSource = .seeded(1)
    configuration.observers = observers
    configuration.interceptors = interceptors
    configure(&configuration)
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }
}

extension ScriptedTransport.Step {
  /// An answer that takes its time.
  package static func slow(
    _ clock: ManualClock, _ duration: Duration, status: Int = 200, headers: HTTPFields = [:], body: String = "",
    facts: TransferFacts = TransferFacts()
  ) -> Self {
    .perform { _ throws(TransportError) in
      clock.advance(by: duration)
      return TransferResponse(
        head: HTTPResponse(status: .init(code: status), headerFields: headers), body: ResponseBody(Data(body.utf8)),
        facts: facts)
    }
  }

  package static func redirect(to location: String, status: HTTPResponse.Status = .found) -> Self {
    .respond(status: status, headers: [.location: location])
  }

  package static func fail(_ stage: FailureStage, _ code: FailureCode, sent: Bool = false) -> Self {
    .fail(TransportError(stage: stage, code: code, message: "scripted", requestSent: sent))
  }
}

/// A streamed body that gives its chunks, and then ends or fails.
package final class ChunkSource: ResponseBodySource {
  private let chunks: Lock<ArraySlice<Data>>
  private let failure: TransportError?
  private let cancelled = Lock(false)

  package init(_ chunks: [Data], failure: TransportError? = nil) {
    self.chunks = Lock(chunks[...])
    self.failure = failure
  }

  package var finalFacts: TransferFacts? { chunks.withLock { $0.isEmpty } ? TransferFacts(bytesReceived: 77) : nil }

  package func next() async throws(TransportError) -> Data? {
    if Task.isCancelled || cancelled.withLock({ $0 }) { throw .cancelled(requestSent: true) }
    if let chunk = chunks.withLock({ $0.popFirst() }) { return chunk }
    if let failure { throw failure }
    return nil
  }

  package func cancel() { cancelled.withLock { $0 = true } }
}

extension ScriptedTransport.Step {
  /// A 200 whose body is streamed.
  package static func stream(_ chunks: [String], failure: TransportError? = nil) -> Self {
    .perform { _ throws(TransportError) in
      TransferResponse(
        head: HTTPResponse(status: .ok),
        body: ResponseBody(source: ChunkSource(chunks.map { Data($0.utf8) }, failure: failure)))
    }
  }
}

/// Retries everything at once.
package struct AlwaysRetry: HTTPResourceInterceptor {
  package var delay: Retry.Delay

  package init(delay: Retry.Delay = .seconds(1)) { self.delay = delay }

  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action { .retryAfter(delay) }
}
