// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

/// The examples of the S3 API reference: "Signature Calculations for the Authorization Header", "Using Query
/// Parameters" and "Transferring Payload in Multiple Chunks".
@Suite("The examples of the S3 API reference", .timeLimit(.minutes(15)))
struct AWSExampleTests {
  private static let host = "https://examplebucket.s3.amazonaws.com"
  /// 2013-05-24 00:00:00 UTC.
  private static let time = TimeSource.at(1_369_353_600)

  private static func signer(_ payload: AWSSigner.Payload = .signed) throws -> AWSSigner {
    let credentials = try AWSCredentials(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    return try AWSSigner(
      service: "s3", region: "us-east-1", origins: [Origin(host)], payload: payload, time: time
    ) { credentials }
  }

  private static func signature(_ request: ResourceRequest) async throws -> String? {
    try await signer().signing(request).fields["authorization"]?.components(separatedBy: "Signature=").last
  }

  @Test("GET Object")
  func get() async throws {
    let request = try ResourceRequest(url: Self.host + "/test.txt", headers: ["Range": "bytes=0-9"])
    let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    #expect(try await Self.signature(request) == expected)
  }

  @Test("PUT Object")
  func put() async throws {
    let request = try ResourceRequest(
      method: .put, url: Self.host + "/test$file.text",
      headers: ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
      body: .raw(Data("Welcome to Amazon S3.".utf8)))
    let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    #expect(try await Self.signature(request) == expected)
  }

  @Test(
    "GET Bucket",
    arguments: [
      ("/?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
      ("/?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
  func bucket(path: String, expected: String) async throws {
    #expect(try await Self.signature(ResourceRequest(url: Self.host + path)) == expected)
  }

  @Test("A presigned URL")
  func presigned() async throws {
    let url = try await Self.signer().presigned(
      ResourceRequest(url: Self.host + "/test.txt"), expiresIn: .seconds(86_400))
    #expect(
      url == Self.host + "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524"
        + "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  @Test("A payload in chunks")
  func chunks() async throws {
    let signing = AWSSignature(time: "20130524T000000Z", region: "us-east-1", service: "s3")
    let key = try signing.key(from: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    let parts = AWSSignature.Request(
      method: "PUT", path: "/examplebucket/chunkObject.txt", query: "",
      fields: [
        ("host", "s3.amazonaws.com"), ("x-amz-date", signing.time), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", AWSSignature.streaming), ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"), ("content-length", "66824"),
      ], payload: AWSSignature.streaming)
    let seed = try signing.signature(of: parts, key: key)
    #expect(seed == "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
    #expect(AWSChunkedBody.framedLength(of: 66_560) == 66_824)
    // The source's chunks do not matter: the body's are 64 KiB.
    let body = RequestBody.stream(
      Repeating(chunks: [1000, 65_000, 560].map { Data(repeating: UInt8(ascii: "a"), count: $0) }), length: 66_560,
      isReplayable: true)
    let framed = AWSChunkedBody(signature: signing, key: key, seed: seed).framing(body, length: 66_560)
    guard case .stream(66_824, true, let open) = framed.source else {
      Issue.record("the framed body has another form: \(framed.source)")
      return
    }
    for _ in 0..<2 {
      let next = open()
      var heads: [String] = []
      var count = 0
      while let chunk = try await next() {
        heads.append(String(decoding: chunk.prefix { $0 != 0x0D }, as: UTF8.self))
        count += chunk.count
      }
      #expect(count == 66_824)
      #expect(
        heads == [
          "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
          "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
          "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
        ])
    }
  }
}
