// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroBrotli
import LastroCurl
import LastroTesting
import LastroZstd
import PeerSupport
import TestSupport
import Testing

@testable import Lastro

@Suite("Codings with libraries and servers of others", .peers(.codings, .brotli, .zstd), .timeLimit(.minutes(15)))
struct CodingPeerTests {
  private struct Upload: Decodable {
    var coding: String?
    var length: String?
    var text: String
  }

  private static let text = String(repeating: "All happy families are alike; ", count: 400)

  private static func url(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.codings.port)\(path)" }

  private static func stack(
    _ interceptors: [any HTTPResourceInterceptor] = [], _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    engine.codings = [.zstd, .brotli, .gzip]
    edit(&engine)
    var configuration = StackConfiguration.patient
    configuration.interceptors = interceptors
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  private static func get(_ url: String, _ headers: RawHeaders = [:]) throws -> HTTPResource<String, TextAPIError> {
    HTTPResource(
      baseRequestMaking: .request(try ResourceRequest(url: url, headers: headers)), decoding: .text,
      errorDecoding: .text)
  }

  /// Fetches a text from a server that responds with a coding of its choice.
  private static func expect(_ text: String, coding: String, at url: String) async throws {
    let stack = try stack()
    let whole = try await stack.fetch(Self.get(url))
    #expect(whole.value == text)
    #expect(whole.response.head.headerFields[.contentEncoding] == coding)
    await stack.shutDown(cancelling: true)
  }

  @Test("Bodies of Python's zstandard, brotli and gzip are decoded", arguments: ["zstd", "br", "gzip"])
  func decoded(coding: String) async throws {
    try await Self.expect(Self.text, coding: coding, at: Self.url("/coded/\(coding)"))
  }

  @Test("Caddy compresses with zstd, and nginx with Brotli, when asked")
  func servers() async throws {
    let text = String(repeating: "0123456789abcde\n", count: 4_096)
    try await Self.expect(text, coding: "zstd", at: "http://127.0.0.1:\(Peers.zstd.port)/file.txt")
    try await Self.expect(text, coding: "br", at: "http://127.0.0.1:\(Peers.brotli.port)/file.txt")
  }

  @Test("A coding that was not asked for is refused, with the codings that were")
  func unknown() async throws {
    let stack = try Self.stack { $0.codings = [.zstd] }
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await stack.fetch(Self.get(Self.url("/coded/br")))
    }
    #expect(error?.code == .badContentEncoding)
    #expect(error.map { "\($0)".contains("\"br\", which was not asked for (only zstd)") } ?? false)
    await stack.shutDown(cancelling: true)
  }

  @Test("Bodies that need more memory than all bodies may hold fail with the name of the limit")
  func memory() async throws {
    let stack = try Self.stack { $0.maximumWindowBytes = 10_000 }
    for coding in ["zstd", "br"] {
      let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
        try await stack.fetch(Self.get(Self.url("/coded/\(coding)")))
      }
      #expect(error?.code == .decodingMemoryFull)
      #expect(error?.stage == .limit)
    }
    // gzip is not counted.
    let plain = try await stack.fetch(Self.get(Self.url("/coded/gzip")))
    #expect(plain.value == Self.text)
    await stack.shutDown(cancelling: true)
  }

  @Test("Requests in gzip and zstd are decoded by Python", arguments: [ContentCoding.gzip, .zstd])
  func uploads(coding: ContentCoding) async throws {
    let stack = try Self.stack([.compressing(coding)])
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).txt").path
    try Data(Self.text.utf8).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    for body in try [RequestBody.raw(Self.text), RequestBody.file(path: file)] {
      let upload = try await stack.fetch(Self.post("/upload", body)).value
      #expect(upload.coding == coding.name)
      #expect(upload.text == Self.text)
      // The length of a file is not known before it is compressed.
      if let length = upload.length.flatMap({ Int($0) }) { #expect(length < 1_000) }
      if case .bytes = body.source { #expect(upload.length != nil) } else { #expect(upload.length == nil) }
    }
    await stack.shutDown(cancelling: true)
  }

  @Test("A server that refuses compressed requests gets the plain one, and from then on only plain ones")
  func refused() async throws {
    let stack = try Self.stack([.compressing(.gzip)])
    for attempts in [2, 1] {
      let upload = try await stack.fetch(Self.post("/refuse", .raw(Self.text)))
      #expect(upload.value.coding == nil)
      #expect(upload.value.text == Self.text)
      #expect(upload.response.ledger.attempts.count == attempts)
    }
    await stack.shutDown(cancelling: true)
  }

  private static func post(_ path: String, _ body: RequestBody) throws -> HTTPResource<Upload, TextAPIError> {
    HTTPResource(
      baseRequestMaking: .request(try ResourceRequest(method: .post, url: url(path), body: body)), decoding: .json(),
      errorDecoding: .text)
  }

  @Test("Accept-Encoding lists the codings in their order, and a range or a field of the caller replaces it")
  func offers() async throws {
    let server = try LoopbackServer.http { request in
      LoopbackResponse(body: Array((request.head["Accept-Encoding"] ?? "none").utf8))
    }
    let stack = try Self.stack { $0.codings = [.brotli, .gzip, .zstd] }
    let cases: [(RawHeaders, String)] = [
      ([:], "br, gzip, zstd"), (["Range": "bytes=0-"], "none"), (["Accept-Encoding": "identity"], "identity"),
    ]
    for (headers, expected) in cases {
      #expect(try await stack.fetch(Self.get(server.baseURL, headers)).value == expected)
    }
    #expect(await stack.explain(try Self.get(server.baseURL)).contains("br, gzip, zstd"))
    await stack.shutDown(cancelling: true)
  }

  @Test("Names that are not codings have no effect, unless the engine is strict", arguments: [false, true])
  func misnamed(isStrict: Bool) async throws {
    let server = try LoopbackServer.http { request in
      LoopbackResponse(
        headers: ["Content-Encoding": String(request.path.dropFirst())], body: Array("fine".utf8))
    }
    let stack = try Self.stack { $0.refusesMisnamedCodings = isStrict }
    for name in ["none", "UTF-8", "aws-chunked"] {
      let resource = try Self.get(server.baseURL + "/\(name)")
      if isStrict {
        let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await stack.fetch(resource) }
        #expect(error?.code == .badContentEncoding)
      } else {
        #expect(try await stack.fetch(resource).value == "fine")
      }
    }
    #expect(
      try await stack.fetch(Self.get(server.baseURL + "/identity")).value == "fine")
    await stack.shutDown(cancelling: true)
  }

  @Test("A list of codings that is empty or has a name twice is refused when the engine is made")
  func invalid() {
    for codings: [ContentCoding] in [[], [.zstd, .gzip, .zstd]] {
      #expect(throws: ConfigurationError.self) { try Self.stack { $0.codings = codings } }
    }
    #expect(throws: ConfigurationError.self) { try Self.stack { $0.maximumWindowBytes = 0 } }
  }
}
