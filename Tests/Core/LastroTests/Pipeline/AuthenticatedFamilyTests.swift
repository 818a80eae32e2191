// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// Renewable credentials that also have an opinion from a retry rule.
private actor Session: RequestAuthenticator, HTTPResourceInterceptor {
  private var version = 1
  private let rule: HTTPRetryPolicy?

  init(rule: HTTPRetryPolicy? = nil) { self.rule = rule }

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Session \(version)")
    return request
  }

  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    if let rule {
      return rule.shouldRetry(with: error, state: retryState, metadata: (request, body, response))
    }
    guard response?.status == .unauthorized, version == 1 else { return .none }
    version = 2
    return .retry
  }
}

/// The features of Alicerce's older protocols around `AuthenticatedRequestResource`, built with today's API.
@Suite("Types around AuthenticatedRequestResource", .timeLimit(.minutes(15)))
struct AuthenticatedFamilyTests {
  private func resource(_ interceptors: any HTTPResourceInterceptor...) -> RawHTTPResource {
    RawHTTPResource(
      baseRequestMaking: BaseRequestMaking {
        // Request making may suspend, as in those older protocols.
        await Task.yield()
        return try ResourceRequest(url: "https://api.example/a")
      }, interceptors: interceptors)
  }

  private func credentials(_ transport: ScriptedTransport) -> [String?] {
    transport.requests.map { $0.head.headerFields[.authorization] }
  }

  @Test("A resource with an authenticator sends credentials, and another resource sends none", .parity("AU01"))
  func authenticated() async throws {
    let transport = ScriptedTransport([.respond(status: 200), .respond(status: 200)])
    let stack = TransportNetworkStack(transport: transport)
    _ = try await stack.fetch(resource(Session()))
    _ = try await stack.fetch(resource())
    #expect(credentials(transport) == ["Session 1", nil])
  }

  @Test("The retry rule of an authenticator receives request, payload and response", .parity("AU02"))
  func rule() async throws {
    let transport = ScriptedTransport([
      .respond(status: 503, body: "later"), .respond(status: 503, body: "later"), .respond(status: 404, body: "no"),
    ])
    let rule = HTTPRetryPolicy.custom { _, _, metadata in
      metadata.request != nil && metadata.body == Data("later".utf8) && metadata.response != nil
        ? .retry : .noRetry(.retries(0))
    }
    do {
      _ = try await TransportNetworkStack(transport: transport).fetch(resource(Session(rule: rule)))
      Issue.record("a 404 must fail")
    } catch {
      guard case (.retries(0), let state)? = error.retryFailure else { throw error }
      #expect(error.statusCode == .notFound)
      #expect(state.errors.count == 3)
    }
    #expect(transport.requests.count == 3)
  }

  @Test("Credentials that a server rejects are renewed, and the request is made again with them", .parity("AU03"))
  func reauthenticates() async throws {
    let transport = ScriptedTransport([.respond(status: 401), .respond(status: 200)])
    var configuration = StackConfiguration()
    configuration.interceptors = [Session()]
    _ = try await TransportNetworkStack(transport: transport, configuration: configuration).fetch(resource())
    #expect(credentials(transport) == ["Session 1", "Session 2"])
  }
}
