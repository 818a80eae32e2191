// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import Lastro

@Suite("Explanations", .timeLimit(.minutes(15)))
struct ExplanationTests {
  struct Opaque: HTTPResourceInterceptor {
    var credentialOrigins: [Origin] { [try? Origin("https://partner.example")].compactMap(\.self) }

    func interceptMakeRequest(
      _ result: Result<ResourceRequest, any Error>, context: AttemptContext
    ) async -> Result<ResourceRequest, any Error> {
      Issue.record("an explanation must not run hooks")
      return result
    }
    func interceptFailed(
      _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) async -> Retry.Action {
      Issue.record("an explanation must not run hooks")
      return .none
    }
  }

  static func explain(
    _ method: HTTPRequest.Method = .get, url: String = "https://api.example/a?token=hush&page=2",
    options: RequestOptions = RequestOptions(), body: RequestBody = .empty,
    interceptors: [any HTTPResourceInterceptor] = [.retry],
    configure: (inout StackConfiguration) -> Void = { _ in }
  ) async throws -> FetchExplanation {
    let transport = ScriptedTransport { _ throws(TransportError) in
      Issue.record("an explanation must not send requests")
      throw .cancelled()
    }
    let stack = TransportNetworkStack(transport, configure: configure)
    var request = try ResourceRequest(method: method, url: url)
    request.body = body
    return await stack.explanation(
      of: RawHTTPResource.raw(request, interceptors: interceptors, options: options))
  }

  private static func verdict(_ explanation: FetchExplanation, _ failure: String) throws -> (Bool, String) {
    let verdict = try #require(explanation.retries.first { $0.failure == failure })
    return (verdict.isRetried, verdict.reason)
  }

  @Test("The explanation of a GET says what is retried, what is not, and why")
  func get() async throws {
    let explanation = try await Self.explain()
    #expect(explanation.request == "GET https://api.example/a?token=***&page=2")
    #expect(explanation.refusal == nil && explanation.idempotency == "yes, by its method")
    for failure in ["no connection", "connection lost after sending", "status 503", "status 429", "status 408"] {
      #expect(try Self.verdict(explanation, failure).0, "\(failure)")
    }
    for failure in ["status 404", "certificate refused", "total timeout", "body does not decode", "status 401"] {
      #expect(try !Self.verdict(explanation, failure).0, "\(failure)")
    }
    #expect(try Self.verdict(explanation, "status 429, Retry-After: 5").1 == "after 5 s, as Retry-After says")
    #expect(try Self.verdict(explanation, "certificate refused").1.contains("trust"))
  }

  @Test("The explanation of a POST lists only unprocessed requests, unless it has a key")
  func post() async throws {
    let plain = try await Self.explain(.post, body: RequestBody(source: .bytes(Data("x".utf8))))
    #expect(try Self.verdict(plain, "no connection").0)
    #expect(try !Self.verdict(plain, "status 503").0)
    #expect(try Self.verdict(plain, "connection lost after sending").1.contains("Idempotency-Key"))
    var options = RequestOptions()
    options.idempotency = .generatedKey
    let keyed = try await Self.explain(.post, options: options, body: RequestBody(source: .bytes(Data("x".utf8))))
    #expect(try Self.verdict(keyed, "status 503").0)
    #expect(keyed.idempotency.contains("Idempotency-Key"))
  }

  @Test("Interceptors are listed in order; those that cannot explain themselves are named and not run")
  func interceptors() async throws {
    let explanation = try await Self.explain(interceptors: [Opaque()]) { $0.interceptors = [.retry] }
    #expect(explanation.interceptors.map(\.name) == [".retry", "Opaque"])
    #expect(explanation.interceptors[0].explanation != nil && explanation.interceptors[1].explanation == nil)
    #expect(explanation.interceptors[1].credentialOrigins == ["https://partner.example"])
    let verdict = try #require(explanation.retries.first { $0.failure == "status 401" })
    #expect(!verdict.isRetried && verdict.undecided == ["Opaque"])
    #expect(explanation.description.contains("unless Opaque decides otherwise"))
  }

  @Test("The limits shown are the effective ones: options take precedence over the configuration")
  func limits() async throws {
    var options = RequestOptions()
    options.timeouts = try Timeouts(connect: .seconds(1), attempt: .seconds(2), idle: nil, total: .seconds(3))
    options.maximumBodyBytes = 7
    let explanation = try await Self.explain(options: options) { $0.maximumRetryAfter = .seconds(2) }
    #expect(
      explanation.timeouts == [
        .init("connect", "1 s"), .init("attempt", "2 s"), .init("idle", "none"), .init("total", "3 s"),
      ])
    #expect(explanation.limits.contains(.init("body", "7 bytes")))
    #expect(explanation.limits.contains(.init("retry quota of https://api.example", "500 of 500 left")))
    #expect(try !Self.verdict(explanation, "status 429, Retry-After: 5").0)
  }

  @Test("A request that cannot be made, or would be refused, is reported as such")
  func refusals() async throws {
    struct Failing: Error {}
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
    let unmade = await stack.explanation(of: RawHTTPResource(baseRequestMaking: BaseRequestMaking { throw Failing() }))
    #expect(unmade.request == nil && unmade.refusal == "Failing()" && unmade.retries.isEmpty)
    let refused = try await Self.explain { $0.maximumAttempts = 0 }
    #expect(refused.refusal?.contains("maximumAttempts") == true)
  }

  @Test("An explanation takes no number of a call and reads no clock")
  func sideEffects() async throws {
    struct Explained: Transport {
      let calls = EventRecorder<UInt64>()

      func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse { throw .cancelled() }
      func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
        calls.record(request.callID)
        return []
      }
    }
    let transport = Explained()
    let reads = EventRecorder<Int>()
    let time = TimeSource(
      now: {
        reads.record(1)
        return .zero
      }, sleep: { _ in })
    let stack = TransportNetworkStack(transport, time: time)
    #expect(await stack.explanation(of: try RawHTTPResource.test()).refusal == nil)
    #expect(transport.calls.events == [0] && reads.events.isEmpty)
  }

  @Test("Text and JSON have the same content, without the secrets of the URL")
  func renderings() async throws {
    let explanation = try await Self.explain()
    let json = try String(decoding: JSONEncoder().encode(explanation), as: UTF8.self)
    for text in [explanation.description, json] {
      #expect(text.contains("status 503") && !text.contains("hush"))
    }
    #expect(explanation.description.split(separator: "\n").count < 60)
  }
}

extension ExplanationTests {
  struct Signer: RequestSigner {
    var origins: [Origin] { [try? Origin("https://api.example")].compactMap(\.self) }

    func sign(
      _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
    ) async throws -> ResourceRequest { request }
  }

  @Test("Interceptors are named as a program writes them")
  func names() async throws {
    let origin = try Origin("https://api.example")
    let bearer = try BearerAuthenticator(origins: [origin]) { _ in throw CancellationError() }
    let explanation = try await Self.explain(interceptors: [
      .retry(.maxRetries(1)), HTTPRetryPolicy.maxRetries(1), .logging(Logger(label: "test")),
      .basic(user: "ann", password: "hush", origins: [origin]), .bearer("hush", for: "https://api.example"),
      .apiKey("hush", header: "X-Key", origins: [origin]),
      .digest(user: "ann", password: "hush", origins: [origin]), bearer,
    ])
    #expect(
      explanation.interceptors.map(\.name) == [
        ".retry", "HTTPRetryPolicy", ".logging", ".basic", ".bearer", ".apiKey", ".digest", "BearerAuthenticator",
      ])
  }

  @Test("Authenticators explain what they add and do, without secrets, and signers are named")
  func authenticators() async throws {
    let origin = try Origin("https://api.example")
    let key = try APIKeyAuthenticator("hush-key", in: .queryItem("api_key"), origins: [origin])
    let bearer = try BearerAuthenticator(origins: [origin]) { _ in
      Issue.record("an explanation must not refresh the token")
      throw CancellationError()
    }
    let basic = try BasicAuthenticator(user: "ann", password: "hush-password", origins: [origin])
    let explanation = try await Self.explain(interceptors: [key, bearer, basic]) { $0.signers = [Signer()] }
    #expect(explanation.request == "GET https://api.example/a?token=***&page=2&api_key=***")
    #expect(explanation.interceptors.allSatisfy { $0.explanation != nil })
    #expect(explanation.signers == ["Signer"])
    #expect(try #require(explanation.retries.first { $0.failure == "status 401" }).isRetried)
    #expect(!explanation.description.contains("hush"))
  }
}
