// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Pipeline", .timeLimit(.minutes(15)))
struct PipelineTests {
  struct OneEndpoint: HTTPResourceEndpoint {
    var method: HTTPRequest.Method { .get }
    var baseURL: URL { URL(string: "https://example.com/one") ?? URL(filePath: "/") }
  }
  struct BadEndpoint: HTTPResourceEndpoint {
    var method: HTTPRequest.Method { .get }
    var baseURL: URL { URL(filePath: "/") }
    func makeRequest() throws -> ResourceRequest { throw TestError(name: "endpoint") }
  }

  static func typed(
    _ request: ResourceRequest? = nil, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) throws -> HTTPResource<Model, APIFailure> {
    HTTPResource(
      baseRequestMaking: .request(try request ?? .test()), decoding: .json(), errorDecoding: .json(),
      interceptors: interceptors, options: options)
  }

  @Test("The request of an endpoint is the base request", .parity("BR01", "OL07"))
  func endpoint() async throws {
    let request = try await BaseRequestMaking.endpoint(OneEndpoint()).make()
    #expect(request.url == "https://example.com/one")
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.raw(OneEndpoint()))
    #expect(transport.requests.map(\.head.path) == ["/one"])
  }

  @Test(
    "A base request that cannot be made is reported as noRequest, and nothing is sent", .parity("BR02", "ST06", "ST20"))
  func makeFails() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let error = try await TransportNetworkStack(transport).failure(of: .raw(BadEndpoint()))
    guard case .noRequest(let cause) = error.reason else { throw error }
    #expect(cause as? TestError == TestError(name: "endpoint"))
    #expect(error.stage == .request && error.code == .requestMakingFailed)
    #expect(error.attempts.count == 1 && error.attempts.first?.requestSent == false)
    #expect(transport.requests.isEmpty)
  }

  @Test("A 200 returns the body and the response of the request", .parity("ST02", "ST05"))
  func succeeds() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200, fields: [.eTag: "\"1\""], body: "hello"))
    let request = try ResourceRequest.test(.put, fields: [.accept: "text/plain"], body: .raw("x"))
    let value = try await TransportNetworkStack(transport).fetch(.raw(request))
    #expect(String(decoding: value.value, as: UTF8.self) == "hello")
    #expect(value.response.headerFields[.eTag] == "\"1\"")
    #expect(value.response.attempts.count == 1)
    #expect(value.response.attempts.first?.outcome == .succeeded)
    #expect(value.response.attempts.first?.reason == "first")
    let sent = try #require(transport.requests.first)
    #expect(sent.head.method == .put && sent.head.headerFields[.accept] == "text/plain")
    #expect(sent.head.headerFields[.contentType] == "text/plain; charset=utf-8")
    #expect(sent.body.length == 1)
    #expect(sent.delivery == .collected(maximumBytes: 10 * 1024 * 1024))
    #expect(sent.allowsResend)
    #expect(sent.connectTimeout == .seconds(10) && sent.idleTimeout == .seconds(60))
    #expect(sent.deadline == .seconds(60) && sent.deadlineCode == .totalTimeout)
  }

  @Test(
    "A 204, a 205 and HEAD return no body, whatever the server sent", .parity("ST03", "ST04"),
    arguments: ["", "stray bytes"])
  func noContent(body: String) async throws {
    for (method, status) in [(HTTPRequest.Method.get, 204), (.get, 205), (.head, 200)] {
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(status, body: body)))
      #expect(try await stack.fetch(.test(method)).value.isEmpty)
      let optional = HTTPResource<Model?, APIFailure>(
        baseRequestMaking: .request(try .test(method)), decoding: .json(), errorDecoding: .json())
      #expect(try await stack.fetch(optional).value == nil)
      #expect(try await stack.stream(optional).value.collect(upTo: 100).isEmpty)
      let error = try await stack.failure(of: Self.typed(.test(method)))
      #expect(error.stage == .decode && error.message.contains("no body"))
      var options = RequestOptions()
      options.requiresBody = true
      #expect(try await stack.fetch(.test(method, options: options)).value.isEmpty)
    }
  }

  @Test("A stream that requires a body fails if the body ends without a byte")
  func emptyStream() async throws {
    var options = RequestOptions()
    options.requiresBody = true
    let stack = TransportNetworkStack(
      ScriptedTransport([.stream([]), .answer(200), .stream(["a", "b"]), .answer(204)]))
    let resource = try RawHTTPResource.test(options: options)
    let body = try await stack.stream(resource).value
    #expect(await words { try await body.collect(upTo: 10) } == "response/no_data")
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.stream(resource) }
    #expect(error?.words == "response/no_data")
    #expect(try await stack.stream(resource).value.collect(upTo: 10) == Data("ab".utf8))
    #expect(try await stack.stream(resource).value.collect(upTo: 10).isEmpty)
  }

  @Test("A missing body is a failure if the request requires one", .parity("ST17"))
  func noData() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
    #expect(try await stack.fetch(.test()).value.isEmpty)
    var options = RequestOptions()
    options.requiresBody = true
    let error = try await stack.failure(of: Self.typed(options: options))
    guard case .noData(.ok) = error.reason else { throw error }
    #expect(error.statusCode == .ok && error.stage == .response && error.code == .noData)
  }

  @Test("A failed exchange is reported as its failure", .parity("ST13"))
  func transportFails() async throws {
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed)))
      .failure(of: .test())
    guard case .transport(let cause) = error.reason else { throw error }
    #expect(cause.code == .connectFailed && error.engineCode == 7)
    #expect(error.response == nil && error.statusCode == nil)
  }

  @Test("A response that is not HTTP is a bad response", .parity("ST14"))
  func badResponse() async throws {
    let stack = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .fail(.response, .malformedResponse, sent: true)))
    let error = try await stack.failure(of: .test())
    guard case .badResponse = error.reason else { throw error }
    #expect(error.stage == .response && error.code == .malformedResponse)
  }

  @Test(
    "An error status without an API error has none", .parity("ST15"),
    arguments: [101, 199, 300, 304, 404, 500, 600, 999])
  func status(code: Int) async throws {
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(code))).failure(
      of: Self.typed())
    guard case .http(let status, nil) = error.reason else { throw error }
    #expect(status.code == code && error.statusCode?.code == code)
    #expect(error.stage == .http && error.code == .unexpectedStatus)
    #expect(error.apiErrorDecodingFailure == nil)
    #expect(error.attempts.first?.outcome == .status)
  }

  @Test("An error status carries the API's error, whose decoder receives body and response", .parity("ST16"))
  func apiError() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500, body: #"{"message":"m"}"#)))
    let error = try await stack.failure(of: Self.typed())
    guard case .http(_, APIFailure(message: "m")?) = error.reason else { throw error }
    #expect(error.apiError == APIFailure(message: "m"))
    #expect(error.erased.apiError as? APIFailure == APIFailure(message: "m"))
    let seen = EventRecorder<String>()
    var resource = try RawHTTPResource.test()
    resource.errorDecoding = ErrorDecoding { body, response in
      seen.record("\(String(decoding: body ?? Data(), as: UTF8.self)) \(response.status.code)")
      return nil
    }
    _ = try await stack.failure(of: resource)
    #expect(seen.events == [#"{"message":"m"} 500"#])
  }

  @Test("An error body that does not decode hides neither status nor response")
  func undecodableError() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(502, body: "<html>token=abc</html>")))
    let error = try await stack.failure(of: Self.typed())
    #expect(error.statusCode == .badGateway && error.apiError == nil)
    #expect(error.apiErrorDecodingFailure is DecodingError)
    #expect(error.bodySnippet?.text.contains("<html>") == true)
    #expect(error.bodySnippet?.text.contains("abc") == false)
    #expect(error.debugDescription.contains("did not decode"))
  }

  @Test("An error body that cannot be read hides neither status nor response")
  func unreadableError() async throws {
    let stack = TransportNetworkStack(
      ScriptedTransport { _ throws(TransportError) in
        TransferResponse(head: HTTPResponse(status: .badGateway), body: ResponseBody(source: BrokenSource()))
      })
    let error = try await stack.failure(of: Self.typed())
    #expect(error.statusCode == .badGateway && error.stage == .http)
  }

  @Test("The API's error is found in a 2xx body that does not decode as the model", .parity("OL09"))
  func errorIn200() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200, body: #"{"message":"m"}"#)))
    let error = try await stack.failure(of: Self.typed())
    guard case .decode(let failure) = error.reason else { throw error }
    #expect(failure.status == .ok && failure.snippet?.text == #"{"message":"m"}"#)
    #expect(error.apiError == APIFailure(message: "m"))
    #expect(error.statusCode == .ok)
  }

  @Test("A truncated body is a failure of the exchange")
  func brokenBody() async throws {
    let stack = TransportNetworkStack(
      ScriptedTransport { _ throws(TransportError) in
        TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(source: BrokenSource()))
      })
    let error = try await stack.failure(of: .test())
    #expect(error.code == .truncatedBody && error.statusCode == .ok)
  }

  @Test("A request that the check refuses is never sent, and interceptors see the failure")
  func refused() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let told = EventRecorder<Hooks.Failure>()
    let hooks = Hooks(failed: {
      told.record($0)
      return .none
    })
    let error = try await TransportNetworkStack(transport).failure(
      of: .test(fields: [.contentLength: "5"], interceptors: [hooks]))
    guard case .noRequest = error.reason else { throw error }
    #expect(error.stage == .request && error.code == .conflictingFraming && error.hint != nil)
    #expect(transport.requests.isEmpty)
    #expect(told.events.count == 1)
    #expect(told.events.first?.context.wasScheduled == false)
    #expect(told.events.first?.request != nil)
  }

  @Test("Options of the resource take precedence over the request's, and those over the stack's")
  func options() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) { $0.maximumBodyBytes = 1 }
    _ = try await stack.fetch(.test())
    var options = RequestOptions()
    options.maximumBodyBytes = 2
    options.sensitiveHeaders = [.accept]
    _ = try await stack.fetch(.test(options: options))
    var resource = try RawHTTPResource.test(options: options)
    resource.options.maximumBodyBytes = 3
    resource.options.timeouts = try Timeouts(connect: .seconds(1), attempt: .seconds(2), idle: nil, total: .seconds(9))
    _ = try await stack.fetch(resource)
    #expect(
      transport.requests.map(\.delivery) == [1, 2, 3].map { .collected(maximumBytes: $0) })
    let last = try #require(transport.requests.last)
    #expect(last.connectTimeout == .seconds(1) && last.idleTimeout == nil)
    #expect(last.deadline == .seconds(2) && last.deadlineCode == .attemptTimeout)
  }

  @Test("Each option of a resource applies to a request that leaves it unset")
  func mergedOptions() throws {
    var own = RequestOptions(operation: "one", timeouts: .streaming, idempotency: .idempotent)
    own.maximumBodyBytes = 1
    own.redirects = RedirectPolicy.none
    own.connection = ConnectionOptions()
    own.sensitiveHeaders = [.accept]
    own.sensitiveQueryItems = ["one"]
    own.shownQueryItems = ["two"]
    own.progress = TransferProgressReporter()
    own.secrets = ["secret"]
    own.requiresBody = true
    own.endsWithResponse = true
    own.hostField = "one.example"
    own.layerUses[.telemetry] = 1
    own.onInterimResponse = { _ in }
    own.priority = RequestPriority()
    // Options that were changed, to values that count as not set.
    var base = RequestOptions()
    base.operation = nil
    let defaults = Self.values(RequestOptions()), merged = Self.values(own.overriding(base))
    let names = Set(defaults.keys.filter { merged[$0] == defaults[$0] })
    // A call sets these itself.
    #expect(names == ["withheldBody", "uncodedBody", "firstElement", "tape", "notes"])
    #expect(merged.count > names.count)
  }

  /// The names of all options, with texts of their values.
  private static func values(_ options: RequestOptions) -> [String: String] {
    guard let values = Mirror(reflecting: options).descendant("storage", "box", "value") else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: Mirror(reflecting: values).children.map { ($0.label ?? "", "\($0.value)") })
  }

  @Test("Streams have their own limits, and their body arrives as it is received")
  func streams() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200, body: "hello"))
    let value = try await TransportNetworkStack(transport).stream(Self.typed())
    #expect(try await value.value.collect(upTo: 10) == Data("hello".utf8))
    let sent = try #require(transport.requests.first)
    #expect(sent.delivery == .streamedOnSuccess(maximumBytes: nil, errorBytes: 1024 * 1024))
    #expect(sent.deadline == nil && sent.idleTimeout == .seconds(60))
  }
}

final class BrokenSource: ResponseBodySource {
  func next() async throws(TransportError) -> Data? {
    throw TransportError(stage: .response, code: .truncatedBody, message: "scripted", requestSent: true)
  }
  func cancel() {}
  var finalFacts: TransferFacts? { nil }
}
