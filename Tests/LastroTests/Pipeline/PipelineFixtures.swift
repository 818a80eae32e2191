// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport

@testable import Lastro

/// Answers from a closure; keeps what it was asked.
final class StubTransport: Transport {
  typealias Handler =
    @Sendable (_ request: TransferRequest, _ index: Int) async throws(TransportError) -> TransferResponse

  private let handler: Handler
  private let log = Recorder<TransferRequest>()

  init(_ handler: @escaping Handler) { self.handler = handler }

  /// One answer after the other; the last one again and again.
  convenience init(_ answers: Result<TransferResponse, TransportError>...) {
    self.init { (_, index) throws(TransportError) in try answers[min(index, answers.count - 1)].get() }
  }

  var requests: [TransferRequest] { log.values }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    try await handler(request, log.append(request))
  }
}

/// What happened, in order, from whatever thread.
final class Recorder<Value: Sendable>: Sendable {
  private let storage = Lock<[Value]>([])

  var values: [Value] { storage.withLock { $0 } }

  /// Returns the index of the new value.
  @discardableResult
  func append(_ value: Value) -> Int {
    storage.withLock {
      $0.append(value)
      return $0.count - 1
    }
  }
}

/// A clock that moves when somebody waits on it, or when told to.
final class ManualTime: Sendable {
  private let elapsed = Lock(Duration.zero)
  let sleeps = Recorder<Duration>()

  func advance(by duration: Duration) { elapsed.withLock { $0 += duration } }

  var source: TimeSource {
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
final class WaitingRoom: Sendable {
  private let arrivals: AsyncStream<Void>
  private let arrive: AsyncStream<Void>.Continuation
  private let never: AsyncStream<Void>
  private let hold: AsyncStream<Void>.Continuation

  init() {
    (arrivals, arrive) = AsyncStream.makeStream()
    (never, hold) = AsyncStream.makeStream()
  }

  func waitForCancellation() async {
    arrive.yield()
    for await _ in never {}
  }

  func waitForArrival() async {
    for await _ in arrivals { return }
  }
}

struct TestError: Error, Equatable {
  var name = "test"
}

struct APIFailure: Error, Codable, Equatable {
  var message: String
}

struct Model: Codable, Equatable, Sendable {
  var name: String
}

/// An interceptor out of closures.
struct Hooks: HTTPResourceInterceptor {
  var credentialOrigins: [Origin] = []
  var make: @Sendable (Result<ResourceRequest, any Error>, AttemptContext) async -> Result<ResourceRequest, any Error> =
    {
      result, _ in result
    }
  var scheduled: @Sendable (ResourceRequest, AttemptContext) async -> Void = { _, _ in }
  var succeeded: @Sendable (ResourceRequest, ResourceResponse, Data?, AttemptContext) async -> Void = { _, _, _, _ in }
  var failed: @Sendable (Failure) async -> Retry.Action = { _ in .none }

  struct Failure: Sendable {
    var request: ResourceRequest?
    var response: ResourceResponse?
    var body: Data?
    var error: HTTPFetchError<any Error>
    var context: AttemptContext
  }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> { await make(result, context) }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    await scheduled(request, context)
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { await succeeded(request, response, body, context) }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    await failed(Failure(request: request, response: response, body: body, error: error, context: context))
  }
}

extension ResourceRequest {
  static func test(
    _ method: HTTPRequest.Method = .get, url: String = "https://example.com/a", fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions = RequestOptions()
  ) throws -> Self {
    var request = try ResourceRequest(method: method.rawValue, url: url, body: body, options: options)
    request.head.headerFields.append(contentsOf: fields)
    return request
  }
}

extension RawHTTPResource {
  static func test(
    _ method: HTTPRequest.Method = .get, url: String = "https://example.com/a", fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions = RequestOptions(),
    interceptors: [any HTTPResourceInterceptor] = []
  ) throws -> Self {
    .raw(
      try .test(method, url: url, fields: fields, body: body, options: options), interceptors: interceptors)
  }

  static func intercepted(by interceptors: any HTTPResourceInterceptor...) throws -> Self {
    try test(interceptors: interceptors)
  }
}

extension Result where Success == TransferResponse, Failure == TransportError {
  static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    .success(.answer(status, fields: fields, body: body))
  }

  static func redirect(_ status: Int = 302, to location: String) -> Self {
    .answer(status, fields: [.location: location])
  }

  static func failure(_ stage: FailureStage, _ code: FailureCode, sent: Bool = false) -> Self {
    .failure(TransportError(stage: stage, code: code, message: "scripted", engineCode: 7, requestSent: sent))
  }
}

extension TransferResponse {
  static func answer(_ status: Int, fields: HTTPFields = [:], body: String = "") -> Self {
    TransferResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: ResponseBody(Data(body.utf8)))
  }
}

extension TransportNetworkStack {
  init(
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
  func failure<M, E>(of resource: HTTPResource<M, E>) async throws -> HTTPFetchError<E> {
    do throws(HTTPFetchError<E>) {
      _ = try await fetch(resource)
    } catch {
      return error
    }
    throw TestFailure("the fetch succeeded")
  }
}

struct TestFailure: Error {
  var message: String
  init(_ message: String) { self.message = message }
}
