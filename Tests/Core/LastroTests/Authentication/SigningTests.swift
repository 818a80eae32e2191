// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// A signer as many APIs require it: HMAC-SHA-256 over method, path with query, and the body's hash.
private struct HMACSigner: RequestSigner {
  var origins: [Origin]
  var key: Secret
  var field = "X-Signature"

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    guard let body = bodyDigest else { throw ConfigurationError("the body cannot be signed") }
    let text = "\(request.head.method)\n\(request.head.path ?? "/")\n\(body.hexadecimal)"
    var request = request
    try request.setHeader(field, try MessageDigest.hmacSHA256(of: Data(text.utf8), key: key).base64)
    return request
  }
}

/// A signer that calls a closure.
private struct Signer: RequestSigner {
  var origins: [Origin]
  var sign: @Sendable (inout ResourceRequest, MessageDigest?) throws -> Void

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    var request = request
    try sign(&request, bodyDigest)
    return request
  }
}

@Suite("Request signing", .timeLimit(.minutes(15)))
struct SigningTests {
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  private static let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private static func origins(_ url: String = "https://example.com") throws -> [Origin] { [try Origin(url)] }

  private static func chunks(_ texts: String...) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for text in texts { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
  }

  /// A sequence that starts from the beginning with every iteration.
  private struct Repeating: AsyncSequence, Sendable {
    var texts: [String]
    func makeAsyncIterator() -> AsyncStream<Data>.Iterator {
      AsyncStream { continuation in
        for text in texts { continuation.yield(Data(text.utf8)) }
        continuation.finish()
      }.makeAsyncIterator()
    }
  }

  private static func file(_ bytes: Data) throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try bytes.write(to: URL(filePath: path))
    return path
  }

  private static func hash(_ body: RequestBody) async throws -> String? {
    try await MessageDigest.computed(of: body)?.hexadecimal
  }

  @Test("Every kind of body is hashed")
  func bodies() async throws {
    #expect(try await Self.hash(.empty) == Self.nothing)
    #expect(try await Self.hash(.raw("")) == Self.nothing)
    #expect(try await Self.hash(.raw("abc")) == Self.abc)
    #expect(try await Self.hash(.stream(Repeating(texts: ["a", "", "bc"]), isReplayable: true)) == Self.abc)
    #expect(try await Self.hash(.stream(Repeating(texts: ["abc"]), length: 3, isReplayable: true)) == Self.abc)
    #expect(try await Self.hash(.stream(Self.chunks("abc"))) == nil)
    let path = try Self.file(Data(repeating: UInt8(ascii: "a"), count: 1_000_000))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(
      try await Self.hash(.file(path: path)) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("A one-shot stream is not opened for its hash")
  func oneShot() async throws {
    let opened = EventRecorder<Void>()
    let source = RequestBody.Source.stream(length: nil, isReplayable: false) {
      opened.record(())
      return { nil }
    }
    #expect(try await MessageDigest.computed(of: RequestBody(source: source)) == nil)
    #expect(opened.events.isEmpty)
  }

  @Test("A body whose length differs from the declared one cannot be signed")
  func lengths() async throws {
    for texts in [["ab"], ["ab", "cd"], ["a", "b", "c", "d", "e"]] {
      let body = RequestBody.stream(Repeating(texts: texts), length: 3, isReplayable: true)
      let error = try await #require(throws: TransportError.self) { _ = try await MessageDigest.computed(of: body) }
      #expect(error.code == .invalidBody)
    }
    let path = try Self.file(Data("abc".utf8))
    let body = try RequestBody.file(path: path)
    try Data("abcd".utf8).write(to: URL(filePath: path))
    #expect(
      try await #require(throws: TransportError.self) { _ = try await MessageDigest.computed(of: body) }.code
        == .invalidBody)
    try FileManager.default.removeItem(atPath: path)
    let gone = try await #require(throws: TransportError.self) { _ = try await MessageDigest.computed(of: body) }
    #expect(gone.code == .invalidBody && gone.message.contains("No such file"))
  }

  @Test("An error of the body's stream is thrown, and cancelling ends the reading")
  func failures() async throws {
    let throwing = AsyncThrowingStream<Data, any Error> { $0.finish(throwing: TestError(name: "broken")) }
    let body = RequestBody.stream(throwing, isReplayable: true)
    await #expect(throws: TestError(name: "broken")) { _ = try await MessageDigest.computed(of: body) }
    let task = Task { try await MessageDigest.computed(of: .stream(Endless(), isReplayable: true)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// A sequence that yields bytes without end and ignores cancellation.
  private struct Endless: AsyncSequence, AsyncIteratorProtocol, Sendable {
    func makeAsyncIterator() -> Self { self }
    mutating func next() async throws -> Data? {
      await Task.yield()
      return Data("x".utf8)
    }
  }

  @Test("A signature is the HMAC of what is sent")
  func hmac() async throws {
    let signer = HMACSigner(origins: try Self.origins(), key: "k3y")
    let request = try ResourceRequest.test(.post, url: "https://example.com/a?b=c", body: .raw("abc"))
    let result = try await signed(request, by: [signer], context: AttemptContext())
    let name = try #require(HTTPField.Name("X-Signature"))
    let text = "POST\n/a?b=c\n\(Self.abc)"
    let expected = try MessageDigest.hmacSHA256(of: Array(text.utf8), key: Array("k3y".utf8)).base64
    #expect(result.head.headerFields[values: name] == [expected])
    #expect(result.options.sensitiveHeaders == [name])
    let again = try await signed(result, by: [signer], context: AttemptContext())
    #expect(again.head.headerFields[values: name] == [expected])
  }

  @Test("Signers run in order, each sees the changes of earlier ones, and the body is read once and kept")
  func order() async throws {
    let opened = EventRecorder<Void>()
    let source = RequestBody.Source.stream(length: nil, isReplayable: true) {
      opened.record(())
      return { nil }
    }
    let seen = EventRecorder<String>()
    let first = Signer(origins: try Self.origins()) { request, digest in
      try request.setHeader("X-One", "1")
      request.body = .raw("other")
      seen.record("first \(digest == nil)")
    }
    let second = Signer(origins: try Self.origins()) { request, _ in
      seen.record(request.head.headerFields.map { "\($0.name)" }.joined())
      try request.setHeader("X-One", "2")
      request.head.path = "/a?sig=1"
    }
    let elsewhere = Signer(origins: try Self.origins("https://example.org")) { _, _ in seen.record("elsewhere") }
    let request = try ResourceRequest.test(.post, body: RequestBody(source: source))
    let result = try await signed(request, by: [first, elsewhere, second], context: AttemptContext())
    #expect(seen.events == ["first false", "X-One"] && opened.events.count == 1)
    #expect(result.head.path == "/a?sig=1")
    #expect(result.head.headerFields.map(\.value) == ["2"])
    if case .stream = result.body.source {} else { Issue.record("the body was changed") }
  }

  @Test("A request to another origin is neither read nor signed")
  func otherOrigins() async throws {
    let signer = HMACSigner(origins: try Self.origins("https://example.org"), key: "k")
    // The file does not exist, so reading it would fail.
    let body = RequestBody(source: .file(path: "/nonexistent", length: 1))
    let request = try ResourceRequest.test(.post, body: body)
    #expect(try await signed(request, by: [signer], context: AttemptContext()).head == request.head)
    #expect(try await signed(request, by: [], context: AttemptContext()).head == request.head)
  }

  @Test("A signer may neither redirect the request nor consume a body that it cannot sign")
  func refusals() async throws {
    let mover = Signer(origins: try Self.origins()) { request, _ in request.head.authority = "example.org" }
    let error = try await #require(throws: TransportError.self) {
      _ = try await signed(.test(), by: [mover], context: AttemptContext())
    }
    #expect(error.code == .invalidURL && error.hint != nil)
    let signer = HMACSigner(origins: try Self.origins(), key: "k")
    await #expect(throws: ConfigurationError.self) {
      _ = try await signed(
        .test(.post, body: .stream(Self.chunks("abc"))), by: [signer], context: AttemptContext())
    }
  }
}
