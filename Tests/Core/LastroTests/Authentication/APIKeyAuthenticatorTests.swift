// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("API keys", .timeLimit(.minutes(15)))
struct APIKeyAuthenticatorTests {
  private static let key = "k3y-ÄB+/= &?#"

  private static func authenticator(
    _ placement: APIKeyAuthenticator.Placement, key: String = "k3y", origin: String = "https://example.com"
  ) throws -> APIKeyAuthenticator {
    try APIKeyAuthenticator(Secret(key), in: placement, origins: [try Origin(origin)])
  }

  @Test("A key is sent in a header field, with and without a prefix, and replaces an existing field")
  func header() async throws {
    let plain = try Self.authenticator(.header("X-API-Key"))
    let name = try #require(HTTPField.Name("X-API-Key"))
    let request = try ResourceRequest.test(fields: [name: "old", name: "older"])
    let result = try await plain.authenticate(request)
    #expect(result.head.headerFields[values: name] == ["k3y"])
    #expect(result.options.sensitiveHeaders == [name])
    let prefixed = try Self.authenticator(.header("Authorization", prefix: "Token "))
    #expect(try await prefixed.authenticate(.test()).head.headerFields[.authorization] == "Token k3y")
  }

  @Test(
    "A key is sent percent-encoded in the query, replacing an item of that name and keeping the others",
    arguments: [
      ("/a", "/a?api%20key=<key>"), ("/a?", "/a?api%20key=<key>"), ("/a?x=1", "/a?x=1&api%20key=<key>"),
      ("/a?api%20key=old&x=%2f&x", "/a?api%20key=<key>&x=%2f&x"),
      ("/a?x&api+key=1&&api%20key&y", "/a?x&api%20key=<key>&&y"),
      ("/a?api%20keys=1&%61pi%20key=2", "/a?api%20keys=1&api%20key=<key>"),
      ("/a?x=%zz&=1", "/a?x=%zz&=1&api%20key=<key>"),
      ("/a??b=/", "/a??b=/&api%20key=<key>"), ("/a?API%20KEY=1", "/a?API%20KEY=1&api%20key=<key>"),
    ])
  func query(path: String, expected: String) async throws {
    let authenticator = try Self.authenticator(.queryItem("api key"), key: Self.key)
    var request = try ResourceRequest.test()
    request.head.path = path
    let result = try await authenticator.authenticate(request)
    #expect(result.head.path == expected.replacing("<key>", with: "k3y-%C3%84B%2B%2F%3D%20%26%3F%23"))
    #expect(result.options.sensitiveQueryItems == ["api key"])
    let again = try await authenticator.authenticate(result)
    #expect(again.head.path == result.head.path)
    try RequestCheck.check(result)
  }

  @Test(
    "A key that cannot be sent is refused without showing it",
    arguments: [
      ("", APIKeyAuthenticator.Placement.header("X-Key")), ("k3y\n", .header("X-Key")), (" k3y", .header("X-Key")),
      ("k3y", .header("X Key")), ("k3y", .header("")), ("k3y", .header("Host")), ("k3y", .header("transfer-encoding")),
      ("k3y", .header("X-Key", prefix: "a\r\nb: ")), ("k3y", .header("X-Key", prefix: " ")), ("k3y", .queryItem("")),
    ])
  func refusals(key: String, placement: APIKeyAuthenticator.Placement) throws {
    let error = try #require(throws: ConfigurationError.self) { try Self.authenticator(placement, key: key) }
    #expect(!"\(error)".contains("k3y"))
  }

  @Test("A key is not sent without TLS")
  func cleartext() throws {
    #expect(throws: ConfigurationError.self) {
      try Self.authenticator(.queryItem("key"), origin: "http://example.com")
    }
    _ = try Self.authenticator(.queryItem("key"), origin: "http://[::1]:80")
  }

  @Test("A stack sends a key to no other origin, also after a redirect, and no error shows it")
  func stack() async throws {
    let header = try Self.authenticator(.header("X-Pass"), key: "s3cr3t")
    let item = try Self.authenticator(.queryItem("appid"), key: "s3cr3t")
    let transport = ScriptedTransport([
      .respond(status: 307, headers: [.location: "https://example.org/b"]), .respond(status: 401),
      .respond(status: 403),
    ])
    let stack = TransportNetworkStack(transport: transport)
    let resource = try RawHTTPResource.test(interceptors: [header, item])
    for _ in 0..<2 {
      let error = try await stack.failure(of: resource)
      #expect(error.attempts.count == 1)
      #expect(!"\(error) \(error.debugDescription)".contains("s3cr3t"))
    }
    let name = try #require(HTTPField.Name("X-Pass"))
    #expect(transport.requests.map { $0.head.headerFields[name] } == ["s3cr3t", nil, "s3cr3t"])
    #expect(transport.requests.map(\.head.path) == ["/a?appid=s3cr3t", "/b", "/a?appid=s3cr3t"])
    #expect(!"\(transport.requests)".contains("s3cr3t"))
  }

  @Test("Neither description nor mirror shows the key")
  func secrecy() throws {
    let authenticator = try Self.authenticator(.header("X-Key"), key: "s3cr3t")
    var text = "\(authenticator) \(String(reflecting: authenticator))"
    dump(authenticator, to: &text)
    #expect(!text.contains("s3cr3t"))
  }
}
