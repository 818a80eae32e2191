// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

/// A server of Python that asks libraries of others.
enum Librarian {
  static func url(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.signing.ports[1])\(path)" }

  static func stack(_ configuration: StackConfiguration = .patient) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  static func ask<Answer: Decodable & Sendable>(
    _ path: String, _ wish: some Encodable & Sendable, as type: Answer.Type = Answer.self
  ) async throws -> Answer {
    let stack = try stack()
    let answer = try await stack.fetch(.post(url(path), json: wish, as: Answer.self)).value
    await stack.shutDown(cancelling: true)
    return answer
  }
}

@Suite("Signatures beside those of botocore", .peers(.signing), .timeLimit(.minutes(15)))
struct BotocoreTests {
  private struct Wish: Encodable {
    var service: String
    var region = "eu-west-1"
    var id = "AKIDEXAMPLE"
    var secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    var token: String?
    var method: String
    var url: String
    var headers: [String: String]
    var body: Data
    var time: Int64 = 1_440_938_160
    var payload: String?
    var expires: Int?
  }

  private struct Answer: Decodable {
    var headers: [String: String]
    var url: String
  }

  private static let methods: [HTTPRequest.Method] = [.get, .put, .post, .delete, .head]
  private static let paths = [
    "/", "/key", "/a/b/c", "/a//b", "/dir/", "/a%20b", "/%C3%A9", "/a~b-c_d.e", "/a%2Fb", "/a:b@c,d;e=f", "/*'()!$",
    "/%5Cx",
  ]
  private static let queries = [
    "", "?list-type=2&prefix=a%2Fb&max-keys=10", "?uploads=", "?b=2&a=1&a=0", "?x=1%202%2B3", "?q=%C3%A9&Q=1",
  ]
  private static let fields: [[String: String]] = [
    [:], ["Content-Type": "text/plain; charset=utf-8", "X-Amz-Meta-B": "  two   blanks ", "x-amz-acl": "private"],
    ["Range": "bytes=0-9", "If-None-Match": "\"e\"", "User-Agent": "never signed"],
  ]
  private static let bodies = ["", "hello", String(repeating: "é", count: 1000)]

  private static func signer(
    _ service: String, _ origin: String, _ payload: AWSSigner.Payload, token: String?
  ) throws -> AWSSigner {
    let credentials = try AWSCredentials(
      accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      sessionToken: token.map { Secret($0) })
    return try AWSSigner(
      service: service, region: "eu-west-1", origins: [Origin(origin)], payload: payload, time: .at(1_440_938_160)
    ) { credentials }
  }

  /// Every path with every query; the other parts change with them.
  private static let places = paths.enumerated().flatMap { row, path in
    queries.enumerated().map { column, query in (path + query, row + column) }
  }

  @Test("Header fields are byte for byte those of botocore", arguments: ["s3", "execute-api"])
  func header(service: String) async throws {
    let origin = service == "s3" ? "https://bucket.s3.eu-west-1.amazonaws.com" : "https://api.example:8443"
    for (place, number) in Self.places {
      let token = number % 3 == 0 ? "session/token+==" : nil
      let payload: AWSSigner.Payload = service == "s3" && number % 4 == 1 ? .unsigned : .signed
      let fields = Self.fields[number % Self.fields.count]
      let body = Self.bodies[number % Self.bodies.count]
      let request = try ResourceRequest(
        method: Self.methods[number % Self.methods.count], url: origin + place, headers: RawHeaders(fields),
        body: body.isEmpty ? .empty : .raw(Data(body.utf8)))
      let signed = try await Self.signer(service, origin, payload, token: token).signing(request)
      let answer = try await Librarian.ask(
        "/botocore",
        Wish(
          service: service, token: token, method: request.head.method.rawValue, url: signed.url, headers: fields,
          body: Data(body.utf8), payload: payload == .unsigned ? "UNSIGNED-PAYLOAD" : nil),
        as: Answer.self)
      let other = Dictionary(uniqueKeysWithValues: answer.headers.map { ($0.key.lowercased(), $0.value) })
      for name in ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"] {
        #expect(signed.fields[name] == other[name], "\(place) \(number)")
      }
    }
  }

  @Test("Presigned URLs are byte for byte those of botocore", arguments: ["s3", "execute-api"])
  func presigned(service: String) async throws {
    let origin = service == "s3" ? "https://bucket.s3.eu-west-1.amazonaws.com" : "https://api.example:8443"
    // botocore drops all but the first item of a name from a URL that it presigns.
    for (place, number) in Self.places where !place.contains("a=1&a=0") {
      let token = number % 2 == 0 ? "session/token+==" : nil
      let fields = number % 3 == 0 ? ["X-Amz-Meta-A": "b"] : [:]
      let request = try ResourceRequest(
        method: Self.methods[number % 2], url: origin + place, headers: RawHeaders(fields))
      // botocore sends the path as it is given.
      var respelled = request
      respelled.head.path = AWSSignature.respelledTarget(request.head.path ?? "/")
      let url = try await Self.signer(service, origin, .signed, token: token)
        .presigned(request, expiresIn: .seconds(600))
      let answer = try await Librarian.ask(
        "/botocore",
        Wish(
          service: service, token: token, method: request.head.method.rawValue, url: respelled.url, headers: fields,
          body: Data(), expires: 600),
        as: Answer.self)
      #expect(url == answer.url, "\(place) \(number)")
    }
  }
}
