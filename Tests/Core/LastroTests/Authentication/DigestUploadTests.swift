// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Digest authentication: uploads", .timeLimit(.minutes(15)))
struct DigestUploadTests {
  private static let url = "https://example.com/in/file"
  private static let large = Data(repeating: 7, count: 100_000)

  /// Returns a stack for a server that demands a digest, or demands none.
  private static func stack(
    challenges: Bool, empty: Int = 200
  ) throws -> (stack: TransportNetworkStack, transport: ScriptedTransport) {
    let transport = ScriptedTransport { (request, _) throws(TransportError) in
      // The transport reads the body, as a server does that reads the whole request.
      var length = 0
      if case .stream(_, _, let open) = request.body.source {
        let next = open()
        while let chunk = try? await next() { length += chunk.count }
      } else {
        length = Int(request.body.length ?? 0)
      }
      if challenges, request.head.headerFields[.authorization] == nil {
        return .answer(401, fields: [.wwwAuthenticate: #"Digest realm="r", qop="auth", algorithm=SHA-256, nonce="n""#])
      }
      return .answer(length == 0 ? empty : 201)
    }
    var configuration = StackConfiguration()
    configuration.interceptors = [
      try DigestAuthenticator(
        user: "user", password: "word", origins: [Origin("https://example.com")], random: .seeded(1))
    ]
    return (TransportNetworkStack(transport: transport, configuration: configuration), transport)
  }

  private static func once(_ data: Data) -> RequestBody {
    .stream(
      AsyncStream<Data> { continuation in
        continuation.yield(data)
        continuation.finish()
      }, isReplayable: false)
  }

  private static func put(
    _ body: RequestBody, method: HTTPRequest.Method = .put, headers: RawHeaders = [:]
  ) throws -> RawHTTPResource {
    .raw(try ResourceRequest(method: method, url: url, headers: headers, body: body))
  }

  /// Returns the length of each request's body, with `+` if the request had credentials; -1 for an unknown length.
  private static func sent(_ transport: ScriptedTransport) -> [String] {
    transport.requests.map { request in
      let length = request.body.isEmpty ? 0 : request.body.length ?? -1
      return "\(length)\(request.head.headerFields[.authorization] == nil ? "" : "+")"
    }
  }

  @Test("A body that can be sent once is sent once, after an empty request that brings the challenge")
  func once() async throws {
    let (stack, transport) = try Self.stack(challenges: true)
    let answer = try await stack.fetch(Self.put(Self.once(Self.large)))
    #expect(answer.response.status.code == 201)
    #expect(Self.sent(transport) == ["0", "-1+"])
    let second = try await stack.fetch(Self.put(Self.once(Self.large)))
    #expect(second.response.status.code == 201 && Self.sent(transport) == ["0", "-1+", "-1+"])
  }

  @Test("A large body in memory is sent once, after the challenge, and a small one at once")
  func sizes() async throws {
    let (stack, transport) = try Self.stack(challenges: true)
    _ = try await stack.fetch(Self.put(.raw(Self.large)))
    #expect(Self.sent(transport) == ["0", "100000+"])
    let (other, small) = try Self.stack(challenges: true)
    _ = try await other.fetch(Self.put(.raw(Data([1, 2, 3]))))
    #expect(Self.sent(small) == ["3", "3+"])
  }

  @Test(
    "A server that asks for no credentials gets the body after the empty request, whatever its response to that",
    arguments: [200, 204, 400, 411, 500])
  func unchallenged(status: Int) async throws {
    let (stack, transport) = try Self.stack(challenges: false, empty: status)
    let answer = try await stack.fetch(Self.put(Self.once(Self.large)))
    #expect(answer.response.status.code == 201 && Self.sent(transport) == ["0", "-1"])
    // The stack now knows that the origin demands no credentials.
    _ = try await stack.fetch(Self.put(.raw(Self.large)))
    #expect(Self.sent(transport) == ["0", "-1", "100000"])
  }

  @Test("A request that must not be processed twice is not sent without its body")
  func notIdempotent() async throws {
    let (stack, transport) = try Self.stack(challenges: true)
    _ = try await stack.fetch(Self.put(.raw(Self.large), method: .post))
    #expect(Self.sent(transport) == ["100000", "100000+"])
  }

  @Test(
    "A request that depends on its body, or on the server's state, is not sent without its body",
    arguments: ["If-Match", "If-None-Match", "Expect"])
  func conditional(name: String) async throws {
    let (stack, transport) = try Self.stack(challenges: true)
    let value = name == "Expect" ? "100-continue" : "\"v1\""
    let headers = RawHeaders([(name, value)])
    _ = try await stack.fetch(Self.put(.raw(Self.large), headers: headers))
    #expect(Self.sent(transport) == ["100000", "100000+"])
  }

  @Test("A body is not withheld in an attempt that must be the last")
  func onlyAttempt() async throws {
    let (_, transport) = try Self.stack(challenges: false)
    var configuration = StackConfiguration()
    configuration.maximumAttempts = 1
    configuration.interceptors = [
      try DigestAuthenticator(user: "user", password: "word", origins: [Origin("https://example.com")])
    ]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let answer = try await stack.fetch(Self.put(.raw(Self.large)))
    #expect(answer.response.status.code == 201)
    #expect(Self.sent(transport) == ["100000"])
  }

  /// An interceptor that ends a call after its first attempt, whatever other interceptors want.
  private struct NoRetry: HTTPResourceInterceptor {
    func interceptFailed(
      _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) async -> Retry.Action { .noRetry(.retries(0)) }
  }

  @Test("A successful empty request is never the value of the call")
  func emptySuccess() async throws {
    let (_, transport) = try Self.stack(challenges: false)
    var configuration = StackConfiguration()
    configuration.interceptors = [
      NoRetry(), try DigestAuthenticator(user: "user", password: "word", origins: [Origin("https://example.com")]),
    ]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    await #expect(throws: HTTPFetchError<any Error>.self) {
      _ = try await stack.fetch(Self.put(.raw(Self.large)))
    }
    #expect(Self.sent(transport) == ["0"])
  }
}
