// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@Suite("Credentials in any field stay with their origin", .timeLimit(.minutes(15)))
struct CredentialRedirectTests {
  private static func send(
    _ fields: HTTPFields, to location: String, _ interceptors: any HTTPResourceInterceptor...
  ) async throws -> HTTPFields {
    let transport = ScriptedTransport(repeatingLast: .redirect(307, to: location), .answer(200))
    var fields = fields
    fields[.accept] = "*/*"
    fields[.idempotencyKey] = "i"
    _ = try await TransportNetworkStack(transport).fetch(.test(fields: fields, interceptors: interceptors))
    return try #require(transport.requests.last).head.headerFields
  }

  @Test("A redirect to another origin carries no credentials", arguments: CredentialCase.all)
  func redirected(given: CredentialCase) async throws {
    let fields = given.fields(of: "ann")
    #expect(try await Self.send(fields, to: "/b").contains { $0.value == given.secret(of: "ann") })
    let sent = try await Self.send(fields, to: "https://other.org/")
    #expect(!sent.contains { $0.value == given.secret(of: "ann") })
    #expect(sent[.accept] == "*/*" && sent[.idempotencyKey] == "i")
  }

  @Test("An interceptor does not add credentials to the redirected request", arguments: CredentialCase.all)
  func addedBack(given: CredentialCase) async throws {
    let adding = Hooks(make: { result, _ in
      result.map {
        var request = $0
        request.head.headerFields.append(contentsOf: given.fields(of: "ann"))
        return request
      }
    })
    let sent = try await Self.send([:], to: "https://other.org/", adding)
    #expect(!sent.contains { $0.value == given.secret(of: "ann") })
  }
}
