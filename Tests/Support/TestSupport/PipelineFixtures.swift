// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import HTTPTypes
package import Lastro
package import LastroSupport
package import LastroTesting
package import Logging

package struct APIFailure: Error, Codable, Equatable {
  package var message: String

  package init(message: String) { self.message = message }
}

package struct Model: Codable, Equatable, Sendable {
  package var name: String

  package init(name: String) { self.name = name }
}

/// An interceptor whose methods call closures.
package struct Hooks: HTTPResourceInterceptor {
  package var credentialOrigins: [Origin]
  package var make:
    @Sendable (Result<ResourceRequest, any Error>, AttemptContext) async -> Result<ResourceRequest, any Error>
  package var scheduled: @Sendable (ResourceRequest, AttemptContext) async -> Void
  package var succeeded: @Sendable (ResourceRequest, ResourceResponse, Data?, AttemptContext) async -> Void
  package var failed: @Sendable (Failure) async -> Retry.Action

  package init(
    credentialOrigins: [Origin] = [],
    make:
      @escaping @Sendable (Result<ResourceRequest, any Error>, AttemptContext) async -> Result<
        ResourceRequest, any Error
      > = { result, _ in result },
    scheduled: @escaping @Sendable (ResourceRequest, AttemptContext) async -> Void = { _, _ in },
    succeeded: @escaping @Sendable (ResourceRequest, ResourceResponse, Data?, AttemptContext) async -> Void = {
      _, _, _, _ in
    },
    failed: @escaping @Sendable (Failure) async -> Retry.Action = { _ in .none }
  ) {
    self.credentialOrigins = credentialOrigins
    self.make = make
    self.scheduled = scheduled
    self.succeeded = succeeded
    self.failed = failed
  }

  package struct Failure: Sendable {
    package var request: ResourceRequest?
    package var response: ResourceResponse?
    package var body: Data?
    package var error: HTTPFetchError<any Error>
    package var context: AttemptContext

    package init(
      request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) {
      self.request = request
      self.response = response
      self.body = body
      self.error = error
      self.context = context
    }
  }

  package func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> { await make(result, context) }

  package func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    await scheduled(request, context)
  }

  package func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { await succeeded(request, response, body, context) }

  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await failed(Failure(request: request, response: response, body: body, error: error, context: context))
  }
}

extension ResourceRequest {
  package static func test(
    _ method: HTTPRequest.Method = .get, url: String = "https://example.com/a", fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions = RequestOptions()
  ) throws -> Self {
    var request = try ResourceRequest(method: method.rawValue, url: url, body: body, options: options)
    request.head.headerFields.append(contentsOf: fields)
    return request
  }
}

extension RawHTTPResource {
  package static func test(
    _ method: HTTPRequest.Method = .get, url: String = "https://example.com/a", fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions = RequestOptions(),
    interceptors: [any HTTPResourceInterceptor] = []
  ) throws -> Self {
    .raw(
      try .test(method, url: url, fields: fields, body: body, options: options), interceptors: interceptors)
  }

  package static func intercepted(by interceptors: any HTTPResourceInterceptor...) throws -> Self {
    try test(interceptors: interceptors)
  }
}

extension TransferResponse {
  package static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    TransferResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: ResponseBody(Data(body.utf8)))
  }

  package static func redirect(_ status: Int = 302, to location: String) -> Self {
    .answer(status, fields: [.location: location])
  }
}

extension ScriptedTransport.Step {
  package static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    .respond(status: .init(code: status), headers: fields, body: body)
  }

  package static func redirect(_ status: Int = 302, to location: String) -> Self {
    .answer(status, fields: [.location: location])
  }

  package static func fail(_ stage: FailureStage, _ code: FailureCode, sent: Bool = false) -> Self {
    .fail(TransportError(stage: stage, code: code, message: "scripted", engineCode: 7, requestSent: sent))
  }

  /// Returns a step that advances the clock by a duration before it responds.
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

  /// Returns a step that responds with 200 and a streamed body.
  package static func stream(_ chunks: [String], failure: TransportError? = nil) -> Self {
    .perform { _ throws(TransportError) in
      TransferResponse(
        head: HTTPResponse(status: .ok),
        body: ResponseBody(source: ChunkSource(chunks.map { Data($0.utf8) }, failure: failure)))
    }
  }
}

/// The source of a streamed body that yields its chunks, and then ends or fails.
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

extension TransportNetworkStack {
  /// Makes a stack with an automatically advancing clock, so that waits take no real time.
  package init(
    _ transport: any Transport, time: TimeSource = ManualClock(autoAdvance: true).timeSource,
    interceptors: [any HTTPResourceInterceptor] = [], timeouts: Timeouts = .standard,
    configure: (inout StackConfiguration) -> Void = { _ in }
  ) {
    var configuration = StackConfiguration()
    configuration.timeSource = time
    configuration.interceptors = interceptors
    configuration.timeouts = timeouts
    configure(&configuration)
    self.init(transport: transport, configuration: configuration)
  }

  /// Returns a stack with observers and reproducible random numbers.
  package static func observed(
    _ transport: any Transport, by observers: any FetchObserver..., clock: ManualClock = ManualClock(autoAdvance: true),
    interceptors: [any HTTPResourceInterceptor] = [], configure: (inout StackConfiguration) -> Void = { _ in }
  ) -> TransportNetworkStack {
    TransportNetworkStack(transport, time: clock.timeSource, interceptors: interceptors) {
      $0.randomSource = .seeded(1)
      $0.observers = observers
      configure(&$0)
    }
  }

  /// Returns the error of a fetch that is expected to fail.
  package func failure<M, E>(of resource: HTTPResource<M, E>) async throws -> HTTPFetchError<E> {
    do throws(HTTPFetchError<E>) {
      _ = try await fetch(resource)
    } catch {
      return error
    }
    throw TestFailure("the fetch succeeded")
  }
}

/// An interceptor that retries every failure after `delay`. Default 1 s.
package struct AlwaysRetry: HTTPResourceInterceptor {
  package var delay: Retry.Delay

  package init(delay: Retry.Delay = .seconds(1)) { self.delay = delay }

  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action { .retryAfter(delay) }
}

extension ManualClock {
  /// Advances the clock repeatedly while an operation runs that a time limit ends. The operation may not have started
  /// to watch the limit yet, so a single advance is not enough.
  ///
  /// The clock advances at most as often as ``eventually(_:)`` polls, in case no limit ends the operation.
  package func moving<Value>(
    by step: Duration, during operation: () async throws -> Value
  ) async rethrows -> Value {
    // Cancelled and awaited on return, so the clock no longer advances after that.
    async let _ = eventually {
      advance(by: step)
      return false
    }
    return try await operation()
  }
}

/// A log handler that records every log message.
package struct RecordingLogHandler: LogHandler {
  package struct Entry: Sendable {
    package var level: Logger.Level
    package var message: String
    package var metadata: Logger.Metadata

    /// The whole entry in the form that a handler would print.
    package var text: String { "\(level) \(message) \(metadata)" }
  }

  private let entries: Lock<[Entry]>

  package init(entries: Lock<[Entry]>) { self.entries = entries }

  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  package var logLevel = Logger.Level.trace

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let entry = Entry(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
    entries.withLock { $0.append(entry) }
  }

  /// Returns a logger and the entries that it records.
  package static func make(level: Logger.Level = .trace) -> (Logger, Lock<[Entry]>) {
    let entries = Lock<[Entry]>([])
    var logger = Logger(label: "test") { _ in RecordingLogHandler(entries: entries) }
    logger.logLevel = level
    return (logger, entries)
  }
}
