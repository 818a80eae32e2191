// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("The XML of S3", .timeLimit(.minutes(15)))
struct S3DecodingTests {
  private static let response = ResourceResponse(head: HTTPResponse(status: .ok), url: "https://s3.example/")

  @Test("A listing has its objects, prefixes and the token of the next page")
  func listing() throws {
    let xml = """
      <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><!-- a < b --><IsTruncated>true</IsTruncated>
      <Contents><Key>a&amp;b &#x41;&#66;<![CDATA[<c>]]></Key><Size>12</Size><ETag>&quot;e&quot;</ETag><Owner/></Contents>
      <CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes><NextContinuationToken>t=</NextContinuationToken>
      </ListBucketResult>
      """
    let listing = try ModelDecoding.s3Listing.decode(Data(xml.utf8), Self.response)
    #expect(listing.objects == [S3Listing.Object(key: "a&b AB<c>", size: 12, eTag: "\"e\"")])
    #expect(listing.prefixes == ["d/"] && listing.nextToken == "t=")
  }

  @Test("An upload has its identifier and the parts that the server has")
  func upload() throws {
    let started = try ModelDecoding.s3Upload.decode(
      Data("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>".utf8), Self.response)
    #expect(started.id == "u" && started.parts.isEmpty)
    let xml = """
      <ListPartsResult><UploadId>u</UploadId><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>
      <Part><PartNumber>2</PartNumber><ETag>"b"</ETag><Size>5</Size></Part></ListPartsResult>
      """
    let parts = try ModelDecoding.s3Parts.decode(Data(xml.utf8), Self.response)
    #expect(parts.parts.map(\.number) == [2] && parts.parts.first?.size == 5 && parts.nextMarker == "2")
    let body = S3Upload.completion(of: parts.parts + [S3Upload.Part(number: 1, eTag: "\"a<\"")])
    guard case .bytes(let data) = body.source else {
      Issue.record("the body is not in memory")
      return
    }
    #expect(
      String(decoding: data, as: UTF8.self)
        == #"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"a&lt;"</ETag></Part>"#
        + #"<Part><PartNumber>2</PartNumber><ETag>"b"</ETag></Part></CompleteMultipartUpload>"#)
  }

  @Test(
    "A page that lacks the next one's marker, or an entry that lacks a part, is refused and never left out",
    arguments: [
      "<IsTruncated>true</IsTruncated>", "<IsTruncated>true</IsTruncated><NextContinuationToken/>",
      "<IsTruncated>true</IsTruncated><NextPartNumberMarker/>",
      "<Contents><Size>1</Size></Contents><Part><ETag>e</ETag></Part>",
      "<Contents><Key>a</Key></Contents><Part><PartNumber>1</PartNumber></Part>",
      "<Contents><Key>a</Key><Size>x</Size></Contents><Part><PartNumber>x</PartNumber><ETag>e</ETag></Part>",
    ])
  func incomplete(xml: String) throws {
    #expect(throws: XMLReader.Violation.self) {
      try ModelDecoding.s3Listing.decode(Data("<ListBucketResult>\(xml)</ListBucketResult>".utf8), Self.response)
    }
    #expect(throws: XMLReader.Violation.self) {
      try ModelDecoding.s3Parts.decode(Data("<L><UploadId>u</UploadId>\(xml)</L>".utf8), Self.response)
    }
  }

  @Test("An error with a status and an error in a 200 are the API's error, and neither is retried")
  func errors() async throws {
    let xml = "<Error><Code>InternalError</Code><Message>try &lt;later&gt;</Message><RequestId>r</RequestId></Error>"
    let transport = ScriptedTransport([
      .respond(status: .ok, body: " \n\n" + xml), .respond(status: .notFound, body: xml),
      .respond(status: .ok, body: "<CompleteMultipartUploadResult/>"), .respond(status: .ok, body: "<html>"),
    ])
    let stack = TransportNetworkStack(
      transport: transport, configuration: StackConfiguration(interceptors: [.retry]))
    let request = try ResourceRequest(method: .put, url: "https://s3.example/a")
    let resource = HTTPResource<NoContent, S3Error>(
      baseRequestMaking: .request(request), decoding: .s3Completion, errorDecoding: .s3)
    for status in [200, 404] {
      let error = try await #require(throws: HTTPFetchError<S3Error>.self) { try await stack.fetch(resource) }
      guard case .http(let actual, let apiError?) = error.reason else { throw error }
      #expect(actual.code == status && error.stage == .http && error.statusCode?.code == status)
      #expect(apiError.code == "InternalError" && apiError.message == "try <later>" && apiError.requestID == "r")
      #expect(apiError.mayPass && "\(error)".contains("the API says: InternalError: try <later>"))
      #expect(error.body.map { $0.count >= xml.utf8.count } == true)
      #expect(error.ledger.attempts.map(\.outcome) == [.status])
    }
    _ = try await stack.fetch(resource)
    let broken = try await #require(throws: HTTPFetchError<S3Error>.self) { try await stack.fetch(resource) }
    #expect(broken.stage == .decode && transport.requests.count == 4)
  }

  @Test(
    "A document that is not well-formed, too deep or has a document type is refused",
    arguments: [
      "", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&x;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#;</a>", "<a b></a>",
      "<a b=\"></a>", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "<a><!-- </a>", "<a><![CDATA[</a>", "<?xml", "</a>",
      "<a>&amp</a>", String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
      "<r>" + String(repeating: "<a/>", count: 100_000) + "</r>",
    ])
  func refused(xml: String) {
    #expect(throws: XMLReader.Violation.self) { try XMLReader.root(of: Data(xml.utf8)) }
  }

  @Test("Every prefix of a document is refused, and a changed byte adds nothing to a document")
  func mutations() {
    let xml = Array("<?xml v='1'?><a b=\"c\"><!--d--><e>&amp;&#65;</e><![CDATA[f]]><g/></a>".utf8)
    var refused = 0
    var accepted = 0
    for count in 0..<xml.count where (try? XMLReader.root(of: xml[..<count])) == nil { refused += 1 }
    #expect(refused == xml.count)
    for index in xml.indices {
      for byte in [0, 0x26, 0x3C, 0x3E, 0x22, 0x80, 0xFF] as [UInt8] {
        var changed = xml
        changed[index] = byte
        guard let root = try? XMLReader.root(of: changed) else { continue }
        // A document that can still be read has no more than it had.
        #expect(root.children.count <= 2 && root.text.utf8.count <= xml.count)
        accepted += 1
      }
    }
    // Texts and comments may change; marks may not.
    #expect(accepted > 0 && accepted < 7 * xml.count / 2)
  }
}
