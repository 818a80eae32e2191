// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Basic credentials", .timeLimit(.minutes(15)))
struct BasicAuthenticatorTests {
  private static func origin(_ url: String = "https://example.com") throws -> Origin { try Origin(url) }

  private static func header(_ user: String, _ password: String) async throws -> String? {
    let basic = try BasicAuthenticator(user: user, password: Secret(password), origins: [try origin()])
    return try await basic.authenticate(.test()).head.headerFields[.authorization]
  }

  @Test("The examples of RFC 7617 are reproduced")
  func examples() async throws {
    #expect(try await Self.header("Aladdin", "open sesame") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(try await Self.header("test", "123£") == "Basic dGVzdDoxMjPCow==")
  }

  @Test("A password may contain colons, and user and password may be empty")
  func edges() async throws {
    #expect(try await Self.header("a", "b:c") == "Basic YTpiOmM=")
    #expect(try await Self.header("", "") == "Basic Og==")
  }

  @Test(
    "Credentials that cannot be sent are refused without showing them",
    arguments: ["a:b", "a\nb", "a\u{7F}", "a\u{85}"])
  func userIDs(user: String) throws {
    let error = #expect(throws: ConfigurationError.self) {
      try BasicAuthenticator(user: user, password: "p", origins: [try Self.origin()])
    }
    #expect(error?.hint != nil)
  }

  @Test("A password with a line break is refused without showing it")
  func passwordEnd() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try BasicAuthenticator(user: "u", password: "hunter2\n", origins: [try Self.origin()])
    }
    #expect(!"\(error)".contains("hunter2") && error.hint?.contains("file") == true)
  }

  @Test("An origin is required, and one without TLS must be permitted explicitly")
  func origins() throws {
    #expect(throws: ConfigurationError.self) { try BasicAuthenticator(user: "u", password: "p", origins: []) }
    for url in [
      "http://example.com", "http://127.0.0.1.example.com", "http://localhost.example.com", "http://127.example.com",
      "http://[::2]", "http://notlocalhost",
    ] {
      let origins = [try Self.origin(), try Self.origin(url)]
      let error = #expect(throws: ConfigurationError.self) {
        try BasicAuthenticator(user: "u", password: "p", origins: origins)
      }
      #expect(error?.hint?.contains("allowsInsecureOrigins") == true)
      _ = try BasicAuthenticator(user: "u", password: "p", origins: origins, allowsInsecureOrigins: true)
    }
    for url in [
      "http://localhost:8080", "http://api.localhost", "http://127.0.0.1:1", "http://127.8.9.1", "http://[::1]",
    ] {
      _ = try BasicAuthenticator(user: "u", password: "p", origins: [try Self.origin(url)])
    }
  }

  @Test(
    "A request to another origin is sent unchanged",
    arguments: [
      "http://example.com/a", "https://example.com:8443/a", "https://www.example.com/a", "https://example.org/a",
    ])
  func otherOrigins(url: String) async throws {
    let basic = try BasicAuthenticator(user: "u", password: "p", origins: [try Self.origin()])
    let request = try ResourceRequest.test(url: url)
    #expect(try await basic.authenticate(request).head == request.head)
    #expect(basic.credentialOrigins == basic.origins)
  }

  @Test("A stack sends the credentials at once, not again after a 401, and not to the target of a redirect")
  func stack() async throws {
    let basic = try BasicAuthenticator(user: "user", password: "hunter2", origins: [try Self.origin()])
    let transport = ScriptedTransport([
      .respond(status: 401), .respond(status: 307, headers: [.location: "https://example.org/b"]),
      .respond(status: 307, headers: [.location: "https://example.com/c"]), .respond(status: 200),
    ])
    let stack = TransportNetworkStack(transport: transport)
    let resource = try RawHTTPResource.test(interceptors: [basic])
    let error = try await stack.failure(of: resource)
    #expect(error.statusCode == .unauthorized && error.attempts.count == 1)
    #expect(!error.debugDescription.contains("hunter2"))
    _ = try await stack.fetch(resource)
    let sent = transport.requests.map { $0.head.headerFields[.authorization] }
    let header = "Basic dXNlcjpodW50ZXIy"
    #expect(sent == [header, header, nil, header])
  }

  @Test("Neither description nor mirror shows the password")
  func secrecy() throws {
    let basic = try BasicAuthenticator(user: "user", password: "hunter2", origins: [try Self.origin()])
    var text = "\(basic) \(String(reflecting: basic))"
    dump(basic, to: &text)
    #expect(!text.contains("hunter2") && !text.contains("dXNlcjpodW50ZXIy"))
  }
}
