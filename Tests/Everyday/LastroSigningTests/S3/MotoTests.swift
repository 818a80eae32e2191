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

@Suite("S3 of moto, which checks signatures", .peers(.signing), .timeLimit(.minutes(15)))
struct MotoTests {
  private struct Credentials: Decodable {
    var id: String
    var secret: Secret
  }

  private static func origin() throws -> String { "http://127.0.0.1:\(try Peers.signing.port)" }

  /// Returns a stack that signs for moto.
  private static func stack(
    _ payload: AWSSigner.Payload = .signed, secret: Secret? = nil
  ) async throws -> CurlNetworkStack {
    let plain = try Librarian.stack()
    let known = try await plain.fetch(
      .get(Librarian.url("/credentials"), as: Credentials.self)
    ).value
    await plain.shutDown(cancelling: true)
    let credentials = try AWSCredentials(accessKeyID: known.id, secretAccessKey: secret ?? known.secret)
    let signer = try AWSSigner(
      service: "s3", region: "us-east-1", origins: [Origin(origin())], payload: payload
    ) { credentials }
    var configuration = StackConfiguration.patient
    configuration.signers = [signer]
    configuration.interceptors = [signer]
    return try Librarian.stack(configuration)
  }

  private static func resource<Model: Sendable>(
    _ method: HTTPRequest.Method, _ path: String, body: RequestBody = .empty,
    _ decoding: ModelDecoding<Model, Data, ResourceResponse>
  ) throws -> HTTPResource<Model, S3Error> {
    HTTPResource(
      baseRequestMaking: .request(try ResourceRequest(method: method, url: origin() + path, body: body)),
      decoding: decoding, errorDecoding: .s3)
  }

  @Test(
    "Objects are put, listed, read and deleted with every treatment of the body",
    arguments: [AWSSigner.Payload.signed, .unsigned, .chunked])
  func objects(payload: AWSSigner.Payload) async throws {
    let stack = try await Self.stack(payload)
    let bucket = "/bucket-\(payload.rawValue)"
    _ = try await stack.fetch(Self.resource(.put, bucket, .empty))
    let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for key in ["a%20b/%C3%A9+1", "a%20b/2"] {
      _ = try await stack.fetch(Self.resource(.put, "\(bucket)/\(key)", body: .raw(content), .empty))
    }
    let first = try await stack.fetch(
      Self.resource(.get, "\(bucket)?list-type=2&prefix=a%20b%2F&max-keys=1", .s3Listing)
    ).value
    let token = try #require(first.nextToken).percentEncoded(keeping: .unreserved)
    let second = try await stack.fetch(
      Self.resource(.get, "\(bucket)?list-type=2&prefix=a%20b%2F&continuation-token=\(token)", .s3Listing)
    ).value
    #expect((first.objects + second.objects).map(\.key) == ["a b/2", "a b/é+1"])
    #expect((first.objects + second.objects).allSatisfy { $0.size == 200_000 } && second.nextToken == nil)
    #expect(try await stack.fetch(Self.resource(.get, "\(bucket)/a%20b/%C3%A9+1", .raw)).value == content)
    _ = try await stack.fetch(Self.resource(.delete, "\(bucket)/a%20b/2", .empty))
    let error = try await #require(throws: HTTPFetchError<S3Error>.self) {
      try await stack.fetch(Self.resource(.get, "\(bucket)/a%20b/2", .raw))
    }
    #expect(error.statusCode == .notFound && error.apiError?.code == "NoSuchKey")
    await stack.shutDown(cancelling: true)
  }

  @Test("A wrong secret is refused with a typed error, so the server does check signatures")
  func wrongSecret() async throws {
    let stack = try await Self.stack(secret: "another-secret")
    let error = try await #require(throws: HTTPFetchError<S3Error>.self) {
      try await stack.fetch(Self.resource(.get, "/", .raw))
    }
    #expect(error.statusCode == .forbidden && error.apiError?.code == "SignatureDoesNotMatch")
    await stack.shutDown(cancelling: true)
  }

  @Test("An upload in parts is resumed with the parts that the server has, and completed")
  func parts() async throws {
    let stack = try await Self.stack()
    let path = "/parts/a%20b"
    _ = try await stack.fetch(Self.resource(.put, "/parts", .empty))
    let id = try await stack.fetch(Self.resource(.post, path + "?uploads", .s3Upload)).value.id
    let size = 5 << 20
    let content = Data((0..<size + 10).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    func send(_ number: Int) async throws -> S3Upload.Part {
      let body = content[(number - 1) * size..<min(number * size, content.count)]
      let response = try await stack.fetch(
        Self.resource(.put, "\(path)?partNumber=\(number)&uploadId=\(id)", body: .raw(Data(body)), .empty)
      ).response
      return S3Upload.Part(number: number, eTag: try #require(response.headers["ETag"]))
    }
    _ = try await send(2)
    // Another process has the identifier alone.
    var parts = try await stack.fetch(Self.resource(.get, "\(path)?uploadId=\(id)", .s3Parts)).value.parts
    #expect(parts.map(\.number) == [2] && parts.first?.size == 10)
    for number in 1...2 where !parts.contains(where: { $0.number == number }) { parts.append(try await send(number)) }
    _ = try await stack.fetch(
      Self.resource(.post, "\(path)?uploadId=\(id)", body: S3Upload.completion(of: parts), .s3Completion))
    #expect(try await stack.fetch(Self.resource(.get, path, .raw)).value == content)
    let error = try await #require(throws: HTTPFetchError<S3Error>.self) {
      try await stack.fetch(Self.resource(.get, "\(path)?uploadId=\(id)", .s3Parts))
    }
    #expect(error.apiError?.code == "NoSuchUpload")
    await stack.shutDown(cancelling: true)
  }
}
