// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Errors of tokens that cannot be fetched", .timeLimit(.minutes(15)))
struct TokenEndpointDownTests {
  typealias Sources = OAuth2SourceTests

  private let time = ManualClock(autoAdvance: true)

  /// Returns a stack for an API whose token endpoint gives scripted answers, the last of them repeatedly.
  private func stack(
    _ api: ScriptedTransport, _ tokens: ScriptedTransport, eligibility: RetryInterceptor.Eligibility? = .standard
  ) throws -> TransportNetworkStack {
    let source = try Sources.client().clientCredentials(stack: TransportNetworkStack(tokens, time: time.timeSource))
    return try stack(api, source, eligibility: eligibility)
  }

  private func stack(
    _ api: ScriptedTransport, _ source: some AccessTokenSource, eligibility: RetryInterceptor.Eligibility? = .standard
  ) throws -> TransportNetworkStack {
    let bearer = try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], timeSource: time.timeSource)
    let policy = try HTTPRetryPolicy.standard(attempts: 3, random: RandomSource { .max })
    let retry = eligibility.map { RetryInterceptor(policy: policy, eligibility: $0) }
    return TransportNetworkStack(api, time: time.timeSource, interceptors: [bearer] + [retry].compactMap(\.self))
  }

  private static var granted: ScriptedTransport.Step {
    .answer(200, body: #"{"access_token":"t","token_type":"Bearer"}"#)
  }

  private func check(_ error: HTTPFetchError<any Error>, _ words: String, attempts: Int) {
    #expect("\(error.stage.rawValue)/\(error.code)" == words)
    #expect(error.description.hasPrefix(words + ": the access token is missing, as "))
    #expect(error.attempts.count == attempts && !error.attempts.contains(where: \.requestSent))
    #expect(error.attempts.allSatisfy { $0.error.map { "\($0.stage.rawValue)/\($0.code)" } == words })
    #expect(error.ledger.request == "GET https://example.com/a" && error.request == "GET https://example.com/a")
    for text in [error.description, error.debugDescription, error.ledger.json()] { #expect(!text.contains("hidden-s")) }
  }

  @Test(
    "If the token endpoint is down, the error has the cause's stage and the token's code, and is retried",
    arguments: [
      (FailureStage.connect, FailureCode.connectFailed), (.resolve, .hostNotFound), (.timeout, .connectTimeout),
      (.tls, .handshakeFailed), (.proxy, .proxyConnectFailed),
    ])
  func down(stage: FailureStage, code: FailureCode) async throws {
    let tokens = ScriptedTransport(repeatingLast: .fail(stage, code))
    let api = ScriptedTransport(repeatingLast: .answer(200))
    let error = try await stack(api, tokens).failure(of: .test())
    check(error, "\(stage.rawValue)/token_unavailable", attempts: 3)
    #expect(error.message.contains("\(stage.rawValue)/\(code): scripted") && error.message.contains("POST https://"))
    guard case .noRequest(OAuth2Error.fetch(let cause)) = error.reason else { throw error }
    #expect(cause.stage == stage && cause.code == code && error.engineCode == 7)
    guard case .policy(.retries(2)) = error.retryEnd else { throw error }
    #expect(tokens.requests.count == 3 && api.requests.isEmpty)
  }

  @Test(
    "A token endpoint that is down is called once per retry policy, also through the same stack",
    arguments: [RetryInterceptor.Eligibility.standard, .any])
  func oneStack(eligibility: RetryInterceptor.Eligibility) async throws {
    let transport = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let source = try Sources.client().clientCredentials()
    let error = try await stack(transport, source, eligibility: eligibility).failure(of: .test())
    check(error, "connect/token_unavailable", attempts: 1)
    #expect(transport.requests.count == 3)
    #expect(error.description.components(separatedBy: "not retried").count == 2, "\(error)")
    #expect(error.description.components(separatedBy: "attempts").count == 2, "\(error)")
  }

  @Test("A token fetch that its interceptor has retried is not retried again by the call that needed it")
  func nestedFetch() async throws {
    let inner = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let policy = try HTTPRetryPolicy.standard(attempts: 3, random: RandomSource { .max })
    let helper = TransportNetworkStack(
      inner, time: time.timeSource, interceptors: [RetryInterceptor(policy: policy)])
    let asking = Hooks(
      make: { result, _ in
        do {
          _ = try await helper.fetch(.test())
          return result
        } catch {
          return .failure(error)
        }
      })
    let api = ScriptedTransport(repeatingLast: .answer(200))
    let outer = TransportNetworkStack(
      api, time: time.timeSource, interceptors: [asking, RetryInterceptor(policy: policy)])
    let error = try await outer.failure(of: .test())
    #expect(inner.requests.count == 3 && api.requests.isEmpty)
    #expect(error.attempts.count == 1)
  }

  @Test("When the endpoint is back, the retry gets the token, and the request, also a POST, is sent once")
  func back() async throws {
    let tokens = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed), Self.granted)
    let api = ScriptedTransport(repeatingLast: .answer(200))
    let value = try await stack(api, tokens).fetch(.test(.post, body: .raw("a")))
    #expect(value.response.attempts.map(\.reason) == ["first", "connect/token_unavailable"])
    #expect(tokens.requests.count == 2 && api.requests.count == 1)
  }

  @Test("A token request that may have been sent is not repeated by a retry", arguments: [1, 503])
  func sent(_ status: Int) async throws {
    let answer: ScriptedTransport.Step =
      status == 1 ? .fail(.response, .connectionLost, sent: true) : .answer(status)
    let tokens = ScriptedTransport(repeatingLast: answer, Self.granted)
    let api = ScriptedTransport(repeatingLast: .answer(200))
    let error = try await stack(api, tokens).failure(of: .test())
    check(error, status == 1 ? "response/token_unavailable" : "http/token_unavailable", attempts: 1)
    #expect(tokens.requests.count == 1 && api.requests.isEmpty && error.retryEnd == nil && error.statusCode == nil)
  }

  @Test("A wrong client secret is reported as such, with a hint, and not retried")
  func wrongSecret() async throws {
    let body = #"{"error":"invalid_client","error_description":"who are you?"}"#
    let tokens = ScriptedTransport(repeatingLast: .answer(401, body: body), Self.granted)
    let error = try await stack(ScriptedTransport(repeatingLast: .answer(200)), tokens).failure(of: .test())
    check(error, "http/token_refused", attempts: 1)
    #expect(error.message.contains("401 invalid_client: who are you?") && error.hint?.contains("secret") == true)
    guard case .noRequest(OAuth2Error.refused(_, let word, _)) = error.reason else { throw error }
    #expect(word == "invalid_client" && tokens.requests.count == 1)
  }

  @Test("An invalid token response, a slow endpoint and too many refreshes each have their stage")
  func others() async throws {
    let noToken = try await stack(
      ScriptedTransport(repeatingLast: .answer(200)), ScriptedTransport(repeatingLast: .answer(200, body: "{}"))
    )
    .failure(of: .test())
    check(noToken, "decode/token_unavailable", attempts: 1)
    #expect(noToken.message.contains("(its response has no access_token)"))
    for (cause, words) in [
      (AccessTokenError.refreshTimedOut(.seconds(1)), "timeout/token_unavailable"),
      (.excessiveRefresh(5), "limit/token_unavailable"),
    ] {
      let error = Failure(FailureRecord(.noRequest(cause)))
      #expect("\(error.stage.rawValue)/\(error.code)" == words)
    }
    #expect(Failure(FailureRecord(.noRequest(OAuth2Error.noRefreshToken))).stage == .request)
  }
  private typealias Failure = HTTPFetchError<any Error>

  @Test("An untrusted token endpoint is a trust failure, which no policy retries")
  func untrusted() async throws {
    for (stage, code) in [(FailureStage.trust, FailureCode.pinMismatch), (.tls, .untrustedCertificate)] {
      let tokens = ScriptedTransport(repeatingLast: .fail(stage, code))
      let error = try await stack(ScriptedTransport(repeatingLast: .answer(200)), tokens, eligibility: .any).failure(
        of: .test())
      #expect(error.stage == stage && error.code == .tokenUnavailable && error.attempts.count == 1)
      guard case .trust = error.retryEnd else { throw error }
    }
  }

  @Test("A fetch failure thrown by a custom source or a hook keeps its stage, and its code names the origin")
  func ownSource() async throws {
    let tokens = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let inner = TransportNetworkStack(tokens, time: time.timeSource)
    let source = CustomAccessTokenSource { _ in
      _ = try await inner.fetch(.test(url: "https://idp.example/token?hush=s3cr3t"))
      return try .test("t")
    }
    let error = try await stack(ScriptedTransport(repeatingLast: .answer(200)), source).failure(of: .test())
    #expect(error.stage == .connect && error.code == .requestMakingFailed && error.attempts.count == 3)
    #expect(error.message.contains("connect/connect_failed: scripted") && !error.debugDescription.contains("s3cr3t"))
    // The shutdown of another stack does not turn this call's failure into a cancellation.
    let ended = ScriptedTransport(repeatingLast: .fail(.cancelled, .shutDown))
    let hooks = Hooks(make: { _, _ in
      do {
        return .success(try await TransportNetworkStack(ended).fetch(.test()).response.request())
      } catch {
        return .failure(error)
      }
    })
    let other = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200))).failure(
      of: .intercepted(by: hooks))
    #expect(other.stage == .request && !other.isCancelled)
  }

  @Test("A token failure behind a redirect does not resend the POST before it")
  func behindRedirect() async throws {
    let down = Failure(FailureRecord(.transport(TransportError(stage: .connect, code: .connectFailed, message: ""))))
    let hooks = Hooks(make: { result, context in context.hop == 0 ? result : .failure(down) })
    let api = ScriptedTransport(repeatingLast: .redirect(307, to: "/b"))
    let error = try await TransportNetworkStack(api, interceptors: [hooks, .retry])
      .failure(of: .test(.post, body: .raw("a")))
    guard case .notIdempotent = error.retryEnd else { throw error }
    #expect(api.requests.count == 1 && error.stage == .connect)
  }

  @Test("In an outage many calls make few token requests, and fewer the longer it lasts")
  func outage() async throws {
    let tokens = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let stack = try stack(ScriptedTransport(repeatingLast: .answer(200)), tokens)
    for call in 0..<1000 {
      let error = try await stack.failure(of: .test())
      #expect(error.stage == .connect, "\(call)")
    }
    // Each call waits 150 ms, which makes 150 s in total. The pauses grow to 1 s.
    #expect((10...200).contains(tokens.requests.count), "\(tokens.requests.count)")
  }

  @Test("The explanation of a stack with tokens shows what would happen")
  func explanation() async throws {
    let stack = try stack(
      ScriptedTransport(repeatingLast: .answer(200)), ScriptedTransport(repeatingLast: Self.granted))
    let verdict = try #require(
      await stack.explanation(of: .test(.post)).retries.first { $0.failure == "no access token: its endpoint is down" })
    #expect(verdict.isRetried)
    let plain = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
      .explanation(of: .test()).retries
    #expect(!plain.contains { $0.failure.contains("token") })
  }
}

extension ResourceResponse {
  fileprivate func request() throws -> ResourceRequest { try .test(url: url) }
}
