// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

extension RequestBody {
  /// Opens the body once and reads it to its end.
  func sent() async throws -> Data {
    switch source {
    case .empty: return Data()
    case .bytes(let data): return data
    case .file(let path, _): return try Data(contentsOf: URL(filePath: path))
    case .stream(_, _, let open):
      let next = open()
      var data = Data()
      while let chunk = try await next() { data += chunk }
      return data
    }
  }

  var isBytes: Bool { if case .bytes = source { true } else { false } }
}

/// A sequence of chunks that are available at once.
struct Chunks: AsyncSequence, Sendable {
  var chunks: [Data]

  init(_ texts: String...) { chunks = texts.map { Data($0.utf8) } }

  struct AsyncIterator: AsyncIteratorProtocol {
    var rest: ArraySlice<Data>
    mutating func next() async -> Data? { rest.popFirst() }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: chunks[...]) }
}

@Suite("Forms of texts and files", .timeLimit(.minutes(15)))
struct MultipartFormTests {
  private func path(_ content: String) throws -> String {
    let path = NSTemporaryDirectory() + "form-\(UUID().uuidString).txt"
    try content.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test("A form is encoded as browsers do, and knows its length")
  func bytes() async throws {
    let path = try path("file")
    var form = MultipartForm(boundary: "b")
    form.add("a", "one\ntwo")
    form.add("d", Data([0, 255, 13]), filename: "x.bin")
    form.add("t", Data("t".utf8), contentType: "text/x")
    try form.add("f", file: path, contentType: "text/plain", fields: ["X-Extra": "y"])
    form.add("s", .stream(Chunks("st", "", "ream"), length: 6, isReplayable: true), filename: "s")
    let body = try RequestBody.multipart(form)
    let disposition = "Content-Disposition: form-data; name="
    var expected = Data(
      "--b\r\n\(disposition)\"a\"\r\n\r\none\r\ntwo\r\n--b\r\n\(disposition)\"d\"; filename=\"x.bin\"\r\n".utf8)
    expected += Data("Content-Type: application/octet-stream\r\n\r\n".utf8) + [0, 255, 13]
    expected += Data(
      "\r\n--b\r\n\(disposition)\"t\"\r\nContent-Type: text/x\r\n\r\nt\r\n--b\r\n\(disposition)\"f\"".utf8)
    let name = try #require(path.split(separator: "/").last)
    expected += Data("; filename=\"\(name)\"\r\nContent-Type: text/plain\r\nX-Extra: y\r\n\r\nfile\r\n--b\r\n".utf8)
    expected += Data(
      "\(disposition)\"s\"; filename=\"s\"\r\nContent-Type: application/octet-stream\r\n\r\nstream\r\n--b--\r\n".utf8)
    #expect(try await body.sent() == expected)
    #expect(try await body.sent() == expected, "the second time")
    #expect(
      body.length == Int64(expected.count) && body.isReplayable && body.contentType == "multipart/form-data; boundary=b"
    )
  }

  @Test("A form of texts keeps their order")
  func texts() async throws {
    let text = String(decoding: try await RequestBody.multipart(["b": "1\n", "a": "2"]).sent(), as: UTF8.self)
    #expect(text.matches(of: /name="(.)"\r\n\r\n(.)/).map { "\($0.1)=\($0.2)" } == ["b=1", "a=2"])
  }

  @Test("A form without parts is its closing delimiter")
  func empty() async throws {
    let body = try RequestBody.multipart(MultipartForm(boundary: "a b"))
    #expect(try await body.sent() == Data("--a b--\r\n".utf8))
    #expect(body.contentType == "multipart/form-data; boundary=\"a b\"")
  }

  @Test("A form has a length if every part has one, and is replayable if every part is")
  func properties() throws {
    for (length, isReplayable) in [(Int64?(2), true), (nil, true), (2, false), (nil, false)] {
      var form = MultipartForm()
      form.add("a", "b")
      form.add("s", .stream(Chunks("ab"), length: length, isReplayable: isReplayable))
      let body = try RequestBody.multipart(form)
      #expect((body.length == nil) == (length == nil))
      #expect(body.isReplayable == isReplayable)
    }
    var form = MultipartForm()
    for _ in 0..<2 { form.add("s", .stream(Chunks(), length: .max / 2 + 1, isReplayable: true)) }
    #expect(throws: TransportError.self) { try RequestBody.multipart(form) }
    form = MultipartForm()
    form.add("s", .stream(Chunks(), length: -1, isReplayable: true))
    #expect(throws: TransportError.self) { try RequestBody.multipart(form) }
  }

  @Test(
    "Up to a megabyte in memory is sent as bytes, and more in pieces of 64 KiB with the same content",
    arguments: [1, 2, 5])
  func memory(megabytes: Int) async throws {
    var form = MultipartForm(boundary: "b")
    let content = Data((0..<megabytes << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    form.add("a", content.dropFirst(0))
    form.add("b", "text")
    let body = try RequestBody.multipart(form)
    #expect(!body.isBytes)
    let sent = try await body.sent()
    #expect(Int64(sent.count) == body.length)
    #expect(sent.range(of: content) != nil)
    guard case .stream(_, _, let open) = body.source else { return }
    let next = open()
    while let chunk = try await next() { #expect(chunk.count <= 64 << 10 && chunk.startIndex == 0) }
    form = MultipartForm()
    form.add("a", content.prefix(1 << 19))
    #expect(try RequestBody.multipart(form).isBytes)
  }

  @Test("Hostile names and values cannot end a head or a part")
  func injection() async throws {
    let hostile = "x\"\r\nX-Injected: 1\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\n1\r\n--b--"
    var form = MultipartForm()
    form.add(hostile, "v")
    form.add("n", Data(), filename: hostile)
    form.add("v", hostile)
    let body = try RequestBody.multipart(form)
    let parts = try ResponseBody(try await body.sent()).parts(contentType: body.contentType)
    var names: [String?] = []
    for try await part in parts {
      #expect(part.fields.count <= 2)
      names.append(part.name)
    }
    #expect(names == [hostile, "n", "v"])
    for (type, fields) in [("a/b\r\nX: y", [:]), (nil, ["X": "y\r\nZ: 1"]), (nil, ["X Y": "z"])]
      as [(String?, RawHeaders)]
    {
      var form = MultipartForm()
      form.add("a", Data(), contentType: type, fields: fields)
      #expect(throws: TransportError.self) { try RequestBody.multipart(form) }
    }
    for name in ["Content-Disposition", "content-type", "Content-Transfer-Encoding", "Content-Length"] {
      var form = MultipartForm()
      form.add("a", Data(), fields: [RawHeaders.Name(name): "x"])
      #expect(throws: TransportError.self, "\(name)") { try RequestBody.multipart(form) }
    }
  }

  @Test("A form's body registers the secrets of its parts")
  func secrets() throws {
    var form = MultipartForm()
    form.add("a", secret: "hush")
    form.add("b", try .json(["password": Secret("word")]))
    #expect(Set(try RequestBody.multipart(form).secrets) == ["hush", "word"])
  }

  @Test("A form can be a part of another")
  func nested() async throws {
    var inner = MultipartForm()
    inner.add("x", "1")
    let body = try RequestBody.multipart(inner)
    var outer = MultipartForm()
    outer.add("inner", body)
    let sent = try RequestBody.multipart(outer)
    var parts = try ResponseBody(try await sent.sent()).parts(contentType: sent.contentType).makeAsyncIterator()
    let part = try #require(try await parts.next())
    var within = try part.body.parts(of: part.fields).makeAsyncIterator()
    #expect(try await within.next()?.body.collect(upTo: 10) == Data("1".utf8))
    #expect(try await within.next() == nil)
    #expect(try await parts.next() == nil)
  }
}
