// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Discovery of authorization servers", .timeLimit(.minutes(15)))
struct LoginDiscoveryTests {
  /// Returns a stack whose server has some documents, and the list of URLs that were asked for.
  private func stack(
    _ documents: [String: String], statuses: [String: HTTPResponse.Status] = [:]
  ) -> (stack: TransportNetworkStack, asked: Lock<[String]>) {
    let asked = Lock<[String]>([])
    let transport = ScriptedTransport { request throws(TransportError) in
      let url = request.resourceRequest.url
      asked.withLock { $0.append(url) }
      let status = statuses[url] ?? (documents[url] == nil ? .notFound : .ok)
      return TransferResponse(
        head: HTTPResponse(status: status), body: ResponseBody(Data((documents[url] ?? "no such page").utf8)))
    }
    return (TransportNetworkStack(transport: transport), asked)
  }

  private static let issuer = "https://login.example"
  private static let place = issuer + "/.well-known/oauth-authorization-server"

  private func document(_ members: String = "", issuer: String = Self.issuer) -> String {
    #"{"issuer": "\#(issuer)", "token_endpoint": "https://login.example/token"\#(members.isEmpty ? "" : ", " + members)}"#
  }

  private func error(of documents: [String: String], issuer: String = Self.issuer) async throws -> OAuth2LoginError {
    let stack = stack(documents).stack
    return try await #require(throws: OAuth2LoginError.self) {
      try await stack.discoverLogin(issuer: issuer, clientID: "cli")
    }
  }

  @Test(
    "The documents of a server are where RFC 8414 and OpenID Connect have them",
    arguments: [
      (
        "https://a.example", "https://a.example/.well-known/oauth-authorization-server",
        "https://a.example/.well-known/openid-configuration"
      ),
      (
        "https://a.example/", "https://a.example/.well-known/oauth-authorization-server",
        "https://a.example/.well-known/openid-configuration"
      ),
      (
        "https://a.example:8443/t/1/", "https://a.example:8443/.well-known/oauth-authorization-server/t/1",
        "https://a.example:8443/t/1/.well-known/openid-configuration"
      ),
    ])
  func places(issuer: String, first: String, second: String) async throws {
    let (stack, asked) = stack([second: document(#""authorization_endpoint": "https://a.example/go""#, issuer: issuer)])
    let login = try await stack.discoverLogin(issuer: issuer, clientID: "cli")
    #expect(asked.withLock { $0 } == [first, second])
    #expect(login.authorizationURL == "https://a.example/go" && login.client.tokenURL == "https://login.example/token")
    #expect(login.issuer == issuer && !login.announcesIssuer && login.deviceAuthorizationURL == nil)
  }

  @Test("A page in place of a document, and a redirect to it, are passed over")
  func pages() async throws {
    let second = Self.issuer + "/.well-known/openid-configuration"
    for status in [HTTPResponse.Status.ok, .found, .forbidden] {
      let (stack, asked) = stack(
        [Self.place: "<html>", second: document(#""authorization_response_iss_parameter_supported": true"#)],
        statuses: [Self.place: status])
      let login = try await stack.discoverLogin(issuer: Self.issuer, clientID: "cli")
      #expect(login.announcesIssuer && asked.withLock { $0 } == [Self.place, second])
    }
  }

  @Test("A server that fails is not taken for one without a document")
  func failures() async throws {
    for status in [HTTPResponse.Status.internalServerError, .tooManyRequests] {
      let (stack, asked) = stack([:], statuses: [Self.place: status])
      let error = try await #require(throws: OAuth2LoginError.self) {
        try await stack.discoverLogin(issuer: Self.issuer, clientID: "cli")
      }
      guard case .fetch(let cause) = error, cause.statusCode == status else { throw error }
      #expect(asked.withLock { $0 } == [Self.place])
    }
    let large = document(#""x": "\#(String(repeating: "x", count: 256 * 1024))""#)
    guard case .fetch(let cause) = try await error(of: [Self.place: large]), cause.code == .bodyTooLarge else {
      throw Unexpected()
    }
  }

  private struct Unexpected: Error {}

  @Test(
    "A document about another issuer is not used, not even for a difference of a slash",
    arguments: [
      "https://login.example/", "https://evil.example", "HTTPS://login.example", "https://login.example/\u{301}",
    ])
  func otherIssuers(found: String) async throws {
    let error = try await error(of: [Self.place: document(issuer: found)])
    guard case .wrongIssuer(let expected, let other) = error else { throw error }
    #expect(expected == Self.issuer && other == found)
  }

  @Test(
    "Hostile documents end in an error",
    arguments: [
      ("{}", "unnamed"), (#"{"issuer": 1}"#, "unnamed"), (#"{"issuer": "https://login.example"}"#, "no token endpoint"),
      (#"{"issuer": "https://login.example", "token_endpoint": "http://login.example/t"}"#, "token_endpoint is not"),
      (#"{"issuer": "https://login.example", "token_endpoint": "http://127.0.0.1/t"}"#, "token_endpoint is not"),
      (#"{"issuer": "https://login.example", "token_endpoint": "file:///etc/passwd"}"#, "token_endpoint is not"),
      (#"{"issuer": "https://login.example", "token_endpoint": "https://login.example/#t"}"#, "token_endpoint is not"),
      (
        #"{"issuer": "https://login.example", "token_endpoint": "https://u:p@login.example/"}"#, "token_endpoint is not"
      ),
      (
        #"{"issuer": "https://login.example", "token_endpoint": "https://login.example/\u001b[2J"}"#,
        "token_endpoint is not"
      ),
      (
        #"{"issuer": "https://login.example", "token_endpoint": "https://a.example/t", "authorization_endpoint": "javascript:1"}"#,
        "authorization_endpoint is not"
      ),
      (String(repeating: "[", count: 2000), "have no document"), ("[]", "have no document"),
      ("null", "have no document"),
    ])
  func hostile(document: String, reason: String) async throws {
    let text = "\(try await error(of: [Self.place: document]))"
    #expect(text.contains(reason) && text.hasSuffix(")") && !text.contains("\u{1B}"))
  }

  @Test(
    "Issuers that cannot be asked are refused before anything is sent",
    arguments: [
      "", "login.example", "http://login.example", "https://login.example?a", "https://login.example#a",
      "ftp://a.example",
      "https://u:p@login.example",
    ])
  func issuers(issuer: String) async throws {
    let (stack, asked) = stack([:])
    let error = try await #require(throws: OAuth2LoginError.self) {
      try await stack.discoverLogin(issuer: issuer, clientID: "cli")
    }
    guard case .misconfigured(let cause) = error else { throw error }
    #expect(cause.hint != nil && asked.withLock { $0.isEmpty })
  }

  @Test("A server on this machine may use http, and one without S256 has no login in a browser")
  func loopback() async throws {
    let issuer = "http://127.0.0.1:8080"
    let members = #""authorization_endpoint": "http://127.0.0.1:8080/a", "code_challenge_methods_supported": ["plain"]"#
    let (stack, _) = stack([
      issuer + "/.well-known/oauth-authorization-server":
        #"{"issuer": "\#(issuer)", "token_endpoint": "http://127.0.0.1:8080/t", \#(members)}"#
    ])
    let login = try await stack.discoverLogin(issuer: issuer, clientID: "cli")
    let error = try await #require(throws: OAuth2LoginError.self) { try await login.authorizeInBrowser { _ in } }
    guard case .unsupported = error else { throw error }
    let other = try await #require(throws: OAuth2LoginError.self) { try await login.authorizeDevice() }
    guard case .unsupported = other else { throw other }
  }

  @Test("A resource names its server, and only a document about that resource counts")
  func resources() async throws {
    let resource = "https://api.example/v1/?tenant=7"
    let url = "https://api.example/.well-known/oauth-protected-resource/v1/?tenant=7"
    let servers = #""authorization_servers": ["https://login.example", "https://other.example"]"#
    let (good, asked) = stack([
      url: #"{"resource": "\#(resource)", \#(servers)}"#, Self.place: document(),
    ])
    #expect(try await good.discoverLogin(resource: resource, clientID: "cli").issuer == Self.issuer)
    #expect(asked.withLock { $0 } == [url, Self.place])
    for (text, reason) in [
      (#"{"resource": "https://api.example", \#(servers)}"#, "was expected"),
      (#"{"resource": "\#(resource)"}"#, "no authorization"),
      (#"{"resource": "\#(resource)", "authorization_servers": ["http://login.example"]}"#, "not an https URL"),
      (#"{"resource": "\#(resource)", "authorization_servers": ["http://127.0.0.1:8080"]}"#, "not an https URL"),
    ] {
      let (bad, asked) = stack([url: text, Self.place: document()])
      let error = try await #require(throws: OAuth2LoginError.self) {
        try await bad.discoverLogin(resource: resource, clientID: "cli")
      }
      #expect("\(error)".contains(reason) && asked.withLock { $0 } == [url])
    }
    let (local, issuer) = ("http://localhost:8080", "http://127.0.0.1:8081")
    let (machine, _) = stack([
      local + "/.well-known/oauth-protected-resource":
        #"{"resource": "\#(local)", "authorization_servers": ["\#(issuer)"]}"#,
      issuer + "/.well-known/oauth-authorization-server": document(issuer: issuer),
    ])
    #expect(try await machine.discoverLogin(resource: local, clientID: "cli").issuer == issuer)
  }
}
