// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import HTTPTypes
package import Lastro
import LastroSupport

/// Answers from a closure; keeps what it was asked.
package final class StubTransport: Transport {
  package typealias Handler =
    @Sendable (_ request: TransferRequest, _ index: Int) async throws(TransportError) -> TransferResponse

  private let handler: Handler
  private let log = Recorder<TransferRequest>()

  package init(_ handler: @escaping Handler) { self.handler = handler }

  /// One answer after the other; the last one again and again.
  package convenience init(_ answers: Result<TransferResponse, TransportError>...) {
    self.init { (_, index) throws(TransportError) in try answers[min(index, answers.count - 1)].get() }
  }

  package var requests: [TransferRequest] { log.values }

  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    try await handler(request, log.append(request))
  }
}

/// What happened, in order, from whatever thread.
package final class Recorder<Value: Sendable>: Sendable {
  private let storage = Lock<[Value]>([])

  package init() {}

  package var values: [Value] { storage.withLock { $0 } }

  /// Returns the index of the new value.
  @discardableResult
  package func append(_ value: Value) -> Int {
    storage.withLock {
      $0.append(value)
      return $0.count - 1
    }
  }
}

/// A clock that moves when somebody waits on it, or when told to.
package final class ManualTime: Sendable {
  private let elapsed = Lock(Duration.zero)
  package let sleeps = Recorder<Duration>()

  package init() {}

  package func advance(by duration: Duration) { elapsed.withLock { $0 += duration } }

  package var source: TimeSource {
    TimeSource(
      now: { self.elapsed.withLock { $0 } },
      sleep: {
        self.sleeps.append($0)
        self.advance(by: $0)
      },
      limit: { _ in try await Task.sleep(for: .seconds(86_400)) })
  }
}

/// A place where a task waits until it is cancelled, and a test until it does.
package final class WaitingRoom: Sendable {
  private let arrivals: AsyncStream<Void>
  private let arrive: AsyncStream<Void>.Continuation
  private let never: AsyncStream<Void>
  private let hold: AsyncStream<Void>.Continuation

  package init() {
    (arrivals, arrive) = AsyncStream.makeStream()
    (never, hold) = AsyncStream.makeStream()
  }

  package func waitForCancellation() async {
    arrive.yield()
    for await _ in never {}
  }

  package func waitForArrival() async {
    for await _ in arrivals { return }
  }
}

package struct TestError: Error, Equatable {
  package var name: String

  package init(name: String = "test") { self.name = name }
}

package struct APIFailure: Error, Codable, Equatable {
  package var message: String

  package init(message: String) { self.message = message }
}

package struct Model: Codable, Equatable, Sendable {
  package var name: String

  package init(name: String) { self.name = name }
}

/// An interceptor out of closures.
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

extension Result where Success == TransferResponse, Failure == TransportError {
  package static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    .success(.answer(status, fields: fields, body: body))
  }

  package static func redirect(_ status: Int = 302, to location: String) -> Self {
    .answer(status, fields: [.location: location])
  }

  package static func failure(_ stage: FailureStage, _ code: FailureCode, sent: Bool = false) -> Self {
    .failure(TransportError(stage: stage, code: code, message: "scripted", engineCode: 7, requestSent: sent))
  }
}

extension TransferResponse {
  package static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    TransferResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: ResponseBody(Data(body.utf8)))
  }
}

extension TransportNetworkStack {
  package init(
    _ transport: StubTransport, time: TimeSource = ManualTime().source,
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

  /// The error of a fetch that has to fail.
  package func failure<M, E>(of resource: HTTPResource<M, E>) async throws -> HTTPFetchError<E> {
    do throws(HTTPFetchError<E>) {
      _ = try await fetch(resource)
    } catch {
      return error
    }
    throw TestFailure("the fetch succeeded")
  }
}

package struct TestFailure: Error {
  package var message: String
  package init(_ message: String) { self.message = message }
}
