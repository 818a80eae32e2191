// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroZstd

@Suite("Compressed requests", .timeLimit(.minutes(15)))
struct CompressedRequestTests {
  private static let text = String(repeating: "All happy families are alike. ", count: 100)

  private static func stack(
    _ steps: [ScriptedTransport.Step], _ interceptors: [any HTTPResourceInterceptor] = [.compressing()]
  ) -> (TransportNetworkStack, ScriptedTransport) {
    let transport = ScriptedTransport(steps)
    var configuration = StackConfiguration.patient
    configuration.interceptors = interceptors
    return (TransportNetworkStack(transport: transport, configuration: configuration), transport)
  }

  private static func post(
    _ url: String = "https://a.example/", headers: RawHeaders = [:], body: RequestBody = .raw(text)
  ) throws -> HTTPResource<NoContent, TextAPIError> {
    HTTPResource(
      baseRequestMaking: .request(try ResourceRequest(method: .post, url: url, headers: headers, body: body)),
      decoding: .empty, errorDecoding: .text)
  }

  private static func codings(_ transport: ScriptedTransport) -> [String?] {
    transport.requests.map { $0.head.headerFields[.contentEncoding] }
  }

  @Test("A body is sent in its coding, with its new length, and the ledger shows it")
  func compressed() async throws {
    let (stack, transport) = Self.stack([.respond(status: .ok)])
    let response = try await stack.fetch(Self.post()).response
    let request = try #require(transport.requests.first)
    #expect(request.head.headerFields[.contentEncoding] == "gzip")
    #expect(request.head.headerFields[.contentType] == "text/plain; charset=utf-8")
    #expect((request.body.length ?? .max) < 200)
    #expect("\(response.ledger)".contains("compressed with gzip, 3000 bytes to"))
  }

  @Test("Small bodies, bodies that do not become fewer bytes, and bodies that must stay as they are are left alone")
  func plain() async throws {
    let random = Data((0..<5_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11) })
    let cases: [(RawHeaders, RequestBody)] = [
      ([:], .empty), ([:], .raw("small")), ([:], .raw(Data(random.shuffled()))),
      (["Content-Encoding": "br"], .raw(Self.text)), (["Content-Digest": "sha-256=:AA==:"], .raw(Self.text)),
      (["Upload-Offset": "0"], .raw(Self.text)), (["Upload-Length": "3000"], .raw(Self.text)),
      (["Upload-Complete": "?1"], .raw(Self.text)), (["Content-Type": "Application/gRPC+proto"], .raw(Self.text)),
      ([:], .raw(Data(Self.text.utf8), contentType: "application/grpc")),
      (["Content-Range": "bytes 0-2999/3000"], .raw(Self.text)),
    ]
    for (headers, body) in cases {
      let (stack, transport) = Self.stack([.respond(status: .ok)])
      _ = try await stack.fetch(Self.post(headers: headers, body: body))
      #expect(transport.requests.first?.body.length == body.length)
      #expect(Self.codings(transport).first == headers["Content-Encoding"])
    }
  }

  @Test("After a 415, a POST is sent again without coding, and the server is remembered")
  func refused() async throws {
    let (stack, transport) = Self.stack([
      .respond(status: .unsupportedMediaType), .respond(status: .ok), .respond(status: .ok),
      .respond(status: .ok),
    ])
    let response = try await stack.fetch(Self.post()).response
    #expect(response.ledger.attempts.count == 2)
    #expect(transport.requests[1].body.length == Int64(Self.text.utf8.count))
    let next = try await stack.fetch(Self.post("https://a.example/other")).response
    #expect(next.ledger.attempts.count == 1)
    #expect("\(next.ledger)".contains("https://a.example refuses gzip"))
    _ = try await stack.fetch(Self.post("https://b.example/"))
    #expect(Self.codings(transport) == ["gzip", nil, nil, "gzip"])
  }

  @Test("A server that refuses the plain body as well, or lists the coding, refuses the type of the body")
  func refusedType() async throws {
    let (stack, transport) = Self.stack([
      .respond(status: .unsupportedMediaType), .respond(status: .unsupportedMediaType),
      .respond(status: .unsupportedMediaType, headers: [.acceptEncoding: "br;q=0.5, gzip ; q=1"]),
    ])
    for _ in 0..<2 {
      await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await stack.fetch(Self.post()) }
    }
    #expect(Self.codings(transport) == ["gzip", nil, "gzip"])
  }

  @Test("A server that refuses a plain body for its type is still remembered as one that refuses the coding")
  func refusedElsewhere() async throws {
    let (stack, transport) = Self.stack([
      .respond(status: .unsupportedMediaType), .respond(status: .ok), .respond(status: .unsupportedMediaType),
      .respond(status: .ok),
    ])
    _ = try await stack.fetch(Self.post())
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await stack.fetch(Self.post()) }
    #expect(error?.statusCode == .unsupportedMediaType)
    _ = try await stack.fetch(Self.post())
    #expect(Self.codings(transport) == ["gzip", nil, nil, nil])
  }

  @Test(
    "A server says by Accept-Encoding which codings it accepts",
    arguments: [("gzip", true), ("GZIP", true), ("*", true), ("br, *;q=0", false), ("gzip;q=0, *", false), ("", false)])
  func accepted(field: String, isAccepted: Bool) async throws {
    let (stack, transport) = Self.stack([
      .respond(status: .ok, headers: [.acceptEncoding: field]),
      .respond(status: .ok, headers: [.acceptEncoding: "gzip"]),
      .respond(status: .ok),
    ])
    for _ in 0..<3 { _ = try await stack.fetch(Self.post()) }
    #expect(Self.codings(transport) == ["gzip", isAccepted ? "gzip" : nil, "gzip"])
  }

  @Test("A stream is compressed while it is sent, and read again after a 415 only if it can be")
  func streams() async throws {
    for isReplayable in [true, false] {
      let chunks = (0..<50).map { _ in Data(Self.text.utf8) }
      let body = RequestBody.stream(Chunks(chunks: chunks), length: 150_000, isReplayable: isReplayable)
      let refusal = ScriptedTransport.Step.perform { request throws(TransportError) in
        let sent = try await request.body.contents()
        guard sent.count < 2_000, request.body.length == nil else { throw .cancelled() }
        return TransferResponse(head: HTTPResponse(status: .unsupportedMediaType), body: ResponseBody(Data()))
      }
      let success = ScriptedTransport.Step.perform { request throws(TransportError) in
        guard try await request.body.contents().count == 150_000 else { throw .cancelled() }
        return TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(Data()))
      }
      let (stack, transport) = Self.stack([refusal, success])
      if isReplayable {
        _ = try await stack.fetch(Self.post(body: body))
      } else {
        let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
          try await stack.fetch(Self.post(body: body))
        }
        #expect(error?.statusCode == .unsupportedMediaType)
      }
      #expect(transport.requests.count == (isReplayable ? 2 : 1))
    }
  }

  @Test("More than 1 MiB in memory is compressed while it is sent, and can be sent again")
  func large() async throws {
    let bytes = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 >> 9) })
    for (count, isStreamed) in [(1 << 20, false), (1 << 20 + 1, true)] {
      let body = RequestBody.raw((bytes + [7]).prefix(count))
      let (stack, transport) = Self.stack([
        .respond(status: .temporaryRedirect, headers: [.location: "/b"]), .respond(status: .ok),
      ])
      _ = try await stack.fetch(Self.post(body: body))
      #expect(Self.codings(transport) == ["gzip", "gzip"])
      for request in transport.requests {
        #expect((request.body.length == nil) == isStreamed)
        let sent = try await request.body.contents()
        #expect(sent.count < 100_000)
        let fed = DecoderTests.Feeding([Array(sent)[...]], .gzip, room: 65_536)
        #expect(Data(fed.data) == (bytes + [7]).prefix(count) && fed.violation == nil)
      }
    }
  }

  @Test("An explanation compresses nothing")
  func explained() async throws {
    let coding = ContentCoding(
      "test", decoder: ContentCoding.gzip.makeDecoder,
      encoder: {
        Issue.record("an explanation must not compress")
        return nil
      })
    let (stack, _) = Self.stack([], [.retry, .compressing(coding)])
    let explanation = await stack.explanation(of: try Self.post())
    #expect(explanation.refusal == nil && explanation.request == "POST https://a.example/")
    #expect(explanation.interceptors.contains { $0.name == ".compressing" })
  }

  @Test("A redirect to a server that refuses the coding gets the plain body, and one without a body no coding")
  func redirects() async throws {
    let (stack, transport) = Self.stack([
      .respond(status: .ok, headers: [.acceptEncoding: "identity"]),
      .respond(status: .temporaryRedirect, headers: [.location: "https://b.example/"]), .respond(status: .ok),
      .respond(status: .seeOther, headers: [.location: "https://c.example/"]), .respond(status: .ok),
    ])
    _ = try await stack.fetch(Self.post("https://b.example/"))
    _ = try await stack.fetch(Self.post())
    _ = try await stack.fetch(Self.post())
    #expect(Self.codings(transport) == ["gzip", "gzip", nil, "gzip", nil])
    #expect(transport.requests[2].body.length == Int64(Self.text.utf8.count))
    #expect(transport.requests[4].body.isEmpty)
  }

  @Test("Signers see the bytes that are sent")
  func signed() async throws {
    let transport = ScriptedTransport([.respond(status: .ok)])
    var configuration = StackConfiguration.patient
    configuration.interceptors = [.compressing(.zstd)]
    configuration.signers = [LengthSigner(origins: [try Origin("https://a.example")])]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    _ = try await stack.fetch(Self.post())
    let request = try #require(transport.requests.first)
    #expect(request.head.headerFields[.contentEncoding] == "zstd")
    #expect(RawHeaders(request.head.headerFields)["X-Length"] == request.body.length.map { "zstd \($0)" })
  }

  @Test("A body whose digest is signed is compressed again after a redirect")
  func signedRedirect() async throws {
    let transport = ScriptedTransport([
      .respond(status: .permanentRedirect, headers: [.location: "/moved"]), .respond(status: .ok),
    ])
    var configuration = StackConfiguration.patient
    configuration.interceptors = [.compressing()]
    configuration.signers = [DigestSigner(origins: [try Origin("https://a.example")])]
    _ = try await TransportNetworkStack(transport: transport, configuration: configuration).fetch(Self.post())
    #expect(Self.codings(transport) == ["gzip", "gzip"])
    let digests = transport.requests.map { RawHeaders($0.head.headerFields)["Content-Digest"] }
    #expect(digests[0] != nil && digests[0] == digests[1])
  }

  @Test("A coding that compresses nothing and a negative minimum are refused before anything is sent")
  func invalid() async throws {
    for interceptor in [StandardInterceptor.compressing(.deflate), .compressing(.gzip, from: -1)] {
      let (stack, transport) = Self.stack([], [interceptor])
      let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await stack.fetch(Self.post()) }
      #expect(error?.code == .invalidOption)
      #expect(transport.requests.isEmpty)
    }
  }
}

/// A signer that names the coding and the length of the body.
private struct LengthSigner: RequestSigner {
  var origins: [Origin]

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    var signed = request
    let coding = request.head.headerFields[.contentEncoding] ?? "none"
    try signed.setHeader("X-Length", "\(coding) \(request.body.length ?? -1)")
    return signed
  }
}

/// A signer that adds the digest of the body.
private struct DigestSigner: RequestSigner {
  var origins: [Origin]

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    var signed = request
    try signed.setHeader("Content-Digest", "sha-256=:\(bodyDigest?.base64 ?? ""):")
    return signed
  }
}

/// Chunks that can be read again.
private struct Chunks: AsyncSequence, Sendable {
  var chunks: [Data]

  func makeAsyncIterator() -> AsyncStream<Data>.Iterator {
    AsyncStream { continuation in
      for chunk in chunks { continuation.yield(chunk) }
      continuation.finish()
    }.makeAsyncIterator()
  }
}

extension RequestBody {
  /// The bytes that a transport would send.
  fileprivate func contents() async throws(TransportError) -> Data {
    if case .bytes(let bytes) = source { return bytes }
    guard case .stream(_, _, let open) = source else { return Data() }
    var data = Data()
    do {
      let next = open()
      while let chunk = try await next() { data += chunk }
    } catch {
      throw error as? TransportError ?? .cancelled()
    }
    return data
  }
}
