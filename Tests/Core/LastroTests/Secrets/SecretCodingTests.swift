// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Lastro

@Suite("Secrets in models and requests", .timeLimit(.minutes(15)))
struct SecretCodingTests {
  struct Login: Codable, Equatable {
    var user: String
    var password: Secret
    var spare: [Secret] = []
  }

  static let login = Login(user: "ann", password: "PLANTED \"1\"", spare: ["PLANTED-2", "PLANTED-2"])

  static func object(_ data: Data) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test("Encoders write the mask")
  func masked() throws {
    let text = String(decoding: try JSONEncoder().encode(Self.login), as: UTF8.self)
    #expect(!text.contains("PLANTED") && text.contains(#""password":"***""#))
  }

  @Test("An encoder that reveals secrets writes the text, and decoding reads it")
  func revealed() throws {
    let encoder = JSONEncoder()
    #expect(!encoder.revealsSecrets)
    encoder.revealsSecrets = true
    #expect(encoder.revealsSecrets)
    let data = try encoder.encode(Self.login)
    let decoded = try JSONDecoder().decode(Login.self, from: data)
    #expect(decoded == Self.login)
    encoder.revealsSecrets = false
    let masked = String(decoding: try encoder.encode(Self.login), as: UTF8.self)
    #expect(!masked.contains("PLANTED"))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([Secret].self, from: Data("[1]".utf8)) }
  }

  @Test("A JSON body contains the text and registers its secrets")
  func jsonBody() throws {
    let encoder = JSONEncoder()
    let body = try RequestBody.json(Self.login, encoder: encoder)
    let sent = try body.bytes
    let object = try Self.object(sent)
    #expect(object["password"] as? String == "PLANTED \"1\"")
    #expect(body.secrets == ["PLANTED \"1\"", "PLANTED-2"])
    #expect(!encoder.revealsSecrets && SecretCollector.current == nil)
    let masked = String(decoding: try encoder.encode(Self.login), as: UTF8.self)
    #expect(!masked.contains("PLANTED"))
    let plain = try RequestBody.json(["a": 1])
    #expect(plain.secrets.isEmpty)
  }

  @Test("The secrets of a body are registered once each, in coding order")
  func manySecrets() throws {
    let secrets = (0..<5000).map { Secret("PLANTED-\($0 % 2500)") }
    #expect(try RequestBody.json(secrets).secrets == Array(secrets.prefix(2500)))
  }

  @Test("Bodies encoded concurrently with one encoder each register their own secrets")
  func concurrentBodies() async throws {
    let encoder = JSONEncoder()
    try await withThrowingTaskGroup { group in
      for index in 0..<64 {
        group.addTask {
          let secret = Secret("PLANTED-\(index)")
          let body = try RequestBody.json([secret], encoder: encoder)
          #expect(body.secrets == [secret])
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("A form contains the text and registers its secrets")
  func formBody() throws {
    let body = RequestBody.form(["user": "ann"], secrets: ["password": "a b&c"])
    let sent = try body.bytes
    #expect(sent == Data("user=ann&password=a+b%26c".utf8))
    #expect(body.contentType == "application/x-www-form-urlencoded" && body.secrets == ["a b&c"])
    #expect(RequestBody.form(["user": "ann"]).secrets.isEmpty)
  }

  @Test("A secret header field is sent, kept at its origin and masked")
  func header() throws {
    var request = try ResourceRequest.test(fields: [.authorization: "old"])
    try request.setHeader("Authorization", "t0ken-1", prefix: "Bearer ")
    try request.setHeader("X-Plain", Secret("t0ken-2"))
    #expect(request.head.headerFields[values: .authorization] == ["Bearer t0ken-1"])
    #expect(request.options.sensitiveHeaders.map(\.canonicalName).sorted() == ["authorization", "x-plain"])
    #expect(request.options.secrets == ["t0ken-1", "t0ken-2"])
  }

  @Test("A header field with line breaks is refused without showing it")
  func badHeader() throws {
    var request = try ResourceRequest.test()
    let error = #expect(throws: TransportError.self) { try request.setHeader("X-Key", Secret("PLANTED\r\nA: b")) }
    #expect(error?.code == .invalidHeader && error?.description.contains("PLANTED") == false)
    #expect(request.options.secrets.isEmpty && request.head.headerFields.isEmpty)
  }

  @Test("Secret query items and path segments are encoded and masked")
  func url() throws {
    var request = try ResourceRequest.test(url: "https://example.com/a%2Fb/?x=1")
    try request.appendQueryItem("k y", "s&c ret")
    try request.appendPathSegment("to/ken?")
    #expect(request.url == "https://example.com/a%2Fb/to%2Fken%3F?x=1&k%20y=s%26c%20ret")
    #expect(request.options.sensitiveQueryItems == ["k y"])
    #expect(request.options.secrets == ["s&c ret", "to/ken?"])
    #expect(request.description.hasPrefix("GET https://example.com/a%2Fb/***?x=***&k%20y=***,"))
    #expect(CurlCommand.render(request) == "curl 'https://example.com/a%2Fb/***?x=1&k%20y=***'")
  }

  @Test("Segments that would change the path are refused", arguments: ["", ".", ".."])
  func badSegment(text: String) throws {
    var request = try ResourceRequest.test()
    let error = #expect(throws: TransportError.self) { try request.appendPathSegment(Secret(text)) }
    #expect(error?.code == .invalidURL && request.options.secrets.isEmpty)
  }

  @Test("The secrets of resource and request options are combined")
  func overriding() {
    var base = RequestOptions()
    base.secrets = ["one-1"]
    var other = RequestOptions()
    other.secrets = ["two-2"]
    #expect(other.overriding(base).secrets == ["one-1", "two-2"])
    #expect(RequestOptions().overriding(base).secrets == ["one-1"])
  }

  @Test("Secrets are equal if their bytes are")
  func equality() {
    #expect(Secret("\u{e9}") != Secret("e\u{301}") && Secret("a") == Secret("a"))
    #expect(Set([Secret("\u{e9}"), Secret("e\u{301}"), Secret("\u{e9}")]).count == 2)
  }
}

extension RequestBody {
  /// The bytes of a body in memory.
  fileprivate var bytes: Data {
    get throws {
      guard case .bytes(let data) = source else { throw TestFailure("the body is not in memory") }
      return data
    }
  }
}
