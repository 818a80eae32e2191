// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import TestSupport
import Testing

@Suite("Errors of reading a stream", .timeLimit(.minutes(15)))
struct StreamErrorTests {
  private final class Silent: FetchObserver {
    func observe(_ event: FetchEvent) {}
  }

  private static let cut = TransportError(
    stage: .response, code: .truncatedBody, message: "the body is cut", hint: "fetch again", requestSent: true)

  /// Opens a stream that fails after three bytes, at a URL with a secret.
  private func open(isObserved: Bool) async throws -> ResponseBody {
    let transport = ScriptedTransport([.redirect(to: "/b?token=hush"), .stream(["abc"], failure: Self.cut)])
    let stack = TransportNetworkStack(transport) { if isObserved { $0.observers = [Silent()] } }
    return try await stack.stream(RawHTTPResource.test()).value
  }

  @Test("The error has the method and the URL of the last request, without secrets", arguments: [false, true])
  func request(isObserved: Bool) async throws {
    let body = try await open(isObserved: isObserved)
    let error = try await transportError { try await body.collect(upTo: 10) }
    #expect("\(error)" == "response/truncated_body: the body is cut; GET https://example.com/b?token=*** (fetch again)")
    #expect(error.message == "the body is cut" && error.requestSent)
  }

  @Test("The limit of a body that is collected has the request too", arguments: [false, true])
  func limit(isObserved: Bool) async throws {
    let body = try await open(isObserved: isObserved)
    let error = try await transportError { try await body.collect(upTo: 2) }
    #expect("\(error)".hasPrefix("limit/body_too_large: the body exceeds 2 bytes; GET https://example.com/b?token=***"))
  }

  @Test("The error of a fetch has its request once")
  func fetch() async throws {
    let transport = ScriptedTransport([.stream(["abc"], failure: Self.cut)])
    let error = try await TransportNetworkStack(transport).failure(of: RawHTTPResource.test())
    #expect("\(error)".ranges(of: "GET https://example.com/a").count == 1, "\(error)")
    #expect("\(error.ledger)".ranges(of: "GET https://example.com/a").count == 1, "\(error.ledger)")
  }
}
