// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import TestSupport
import Testing

@Suite("Request bodies", .timeLimit(.minutes(15)))
struct RequestBodyTests {
  struct Model: Codable, Equatable {
    var name: String
    var ratio: Double
  }

  static func text(_ body: RequestBody) -> String? {
    guard case .bytes(let data) = body.source else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  @Test("A JSON body has its content type and length, and is replayable")
  func json() throws {
    let body = try RequestBody.json(Model(name: "é", ratio: 1.5))
    #expect(body.contentType == "application/json")
    let text = try #require(Self.text(body))
    #expect(try JSONDecoder().decode(Model.self, from: Data(text.utf8)) == Model(name: "é", ratio: 1.5))
    #expect(body.isReplayable)
    #expect(body.length == Int64(text.utf8.count))
  }

  @Test("A value that cannot be encoded as JSON throws")
  func badJSON() {
    #expect(throws: EncodingError.self) { try RequestBody.json(Model(name: "", ratio: .nan)) }
  }

  @Test("Forms are encoded as by the WHATWG serializer")
  func form() {
    let body = RequestBody.form(["a b": "1+1=2&é", "*-._": "~!'()", "": "", "a b": "\r\n"])
    #expect(Self.text(body) == "a+b=1%2B1%3D2%26%C3%A9&*-._=%7E%21%27%28%29&=&a+b=%0D%0A")
    #expect(body.contentType == "application/x-www-form-urlencoded")
    let none: [(String, String)] = []
    #expect(Self.text(.form(none)) == "")
  }

  @Test("Bytes and text are sent as they are")
  func raw() {
    #expect(RequestBody.raw([1, 2]).length == 2)
    #expect(RequestBody.raw([1, 2]).contentType == nil)
    #expect(RequestBody.raw(Data([1]), contentType: "image/png").contentType == "image/png")
    #expect(Self.text(.raw("é")) == "é")
    #expect(RequestBody.raw("é").contentType == "text/plain; charset=utf-8")
    #expect(!RequestBody.raw("").isEmpty)
  }

  @Test("A file body has the length of its file")
  func file() throws {
    let body = try RequestBody.file(path: #filePath, contentType: "text/plain")
    #expect(body.length == Int64(try Data(contentsOf: URL(filePath: #filePath)).count))
    #expect(body.isReplayable)
    #expect(body.contentType == "text/plain")
  }

  @Test(
    "Files that cannot be sent are refused",
    arguments: ["", "/does/not/exist", "/", "/dev/null", "/etc/passwd/x", "/etc/pass\u{0}wd"])
  func badFile(path: String) throws {
    let error = try #require(refusal { _ = try RequestBody.file(path: path) })
    #expect(error.stage == .request)
    #expect(error.code == .invalidBody)
  }

  @Test("A stream is created again for each sending")
  func stream() async throws {
    struct Chunks: AsyncSequence, Sendable {
      struct AsyncIterator: AsyncIteratorProtocol {
        var left = [Data([1]), Data([2, 3])]
        mutating func next() async -> Data? { left.isEmpty ? nil : left.removeFirst() }
      }
      func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }
    let body = RequestBody.stream(Chunks(), length: 3, isReplayable: true, contentType: "x/y")
    #expect(body.length == 3)
    #expect(body.isReplayable)
    guard case .stream(_, _, let open) = body.source else {
      Issue.record("the body is not a stream")
      return
    }
    for _ in 0..<2 {
      let next = open()
      var chunks: [Data] = []
      while let chunk = try await next() { chunks.append(chunk) }
      #expect(chunks == [Data([1]), Data([2, 3])])
    }
  }

  @Test("A stream is not replayable unless declared so, and its error is thrown")
  func throwingStream() async throws {
    struct Marker: Error {}
    let body = RequestBody.stream(AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Marker()) })
    #expect(!body.isReplayable)
    #expect(body.length == nil)
    guard case .stream(_, _, let open) = body.source else {
      Issue.record("the body is not a stream")
      return
    }
    await #expect(throws: Marker.self) { _ = try await open()() }
  }
}
