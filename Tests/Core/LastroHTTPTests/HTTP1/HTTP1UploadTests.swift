// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("Dialer transport, uploads over HTTP/1.1", .timeLimit(.minutes(15)))
struct HTTP1UploadTests {
  private static func chunks(_ pieces: [String], length: Int64? = nil) -> RequestBody {
    RequestBody(
      source: .stream(length: length, isReplayable: false) {
        var rest = pieces[...]
        return { rest.popFirst().map { Data($0.utf8) } }
      })
  }

  /// Returns a body whose source never ends.
  private static func endless(_ piece: Data) -> RequestBody {
    RequestBody(source: .stream(length: nil, isReplayable: false) { { piece } })
  }

  @Test("Bodies of every kind arrive complete, in pieces of every size", arguments: [1, 3, 64, Int.max])
  func bodies(size: Int) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Data("hello".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let seen = EventRecorder<String>()
    let server = MemoryServer(.init(longestRead: size)) { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        let isChunked = head.contains("chunked")
        if head.contains("Expect") { try await far.write("HTTP/1.1 100 Continue\r\n\r\n") }
        var body = ""
        repeat {
          body += String(decoding: try await far.read(1), as: UTF8.self)
        } while isChunked ? !body.hasSuffix("0\r\n\r\n") : body.utf8.count < 5
        seen.record(body)
        try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    let transport = try server.transport()
    let bodies: [RequestBody] = [
      RequestBody(source: .bytes(Data("hello".utf8))), try .file(path: file.path, contentType: nil),
      Self.chunks(["he", "", "llo"], length: 5), Self.chunks(["he", "llo"]),
    ]
    for body in bodies {
      let answer = try await transport.execute(.to("/", .post, body: body))
      #expect(answer.head.status == .ok)
    }
    #expect(seen.events.prefix(3) == ["hello", "hello", "hello"])
    #expect(seen.events.last?.replacing("\r\n", with: "|").contains("0||") == true)
    #expect(server.dials.count == 1)
  }

  @Test("A body longer or shorter than announced fails, and its connection is closed")
  func lengths() async throws {
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      _ = try await far.read(5)
      try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      _ = try await far.readToEnd()
    }
    let transport = try server.transport()
    for pieces in [["hell"], ["hello", "!"], ["hello!"]] {
      let error = await failure { () async throws(TransportError) in
        try await transport.execute(.to("/", .post, body: Self.chunks(pieces, length: 5)))
      }
      #expect(error?.code == .invalidBody && error?.requestSent == true, "\(pieces)")
    }
    // The last call fails before the server's task has begun.
    try await server.dials.waitForEvents(count: 3)
    #expect(server.dials.count == 3)
  }

  @Test("An error of the source fails the request unchanged")
  func failingSource() async throws {
    let server = MemoryServer { far, _ in _ = try await far.readToEnd() }
    let transport = try server.transport()
    let body = RequestBody(source: .stream(length: nil, isReplayable: false) { { throw TestError() } })
    let error = await failure { () async throws(TransportError) in
      try await transport.execute(.to("/", .put, body: body) { $0.idleTimeout = .seconds(100) })
    }
    #expect(error?.code == .invalidBody && error?.requestSent == true)
  }

  @Test("An error response ends an endless upload, and the connection is closed")
  func earlyRefusal() async throws {
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
      _ = try await far.readToEnd()
    }
    let transport = try server.transport()
    for body in [Self.endless(Data(count: 70_000)), RequestBody(source: .bytes(Data(count: 8 << 20)))] {
      let answer = try await transport.execute(.to("/", .post, body: body))
      #expect(answer.head.status.code == 413 && answer.body.bytes == Data("no".utf8))
    }
    #expect(server.dials.count == 2)
  }

  @Test("An early response below 400 is returned at its head, and the upload continues")
  func earlyAnswer() async throws {
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      // Both directions are active at once: the server echoes each byte of the body.
      for _ in 0..<3 {
        var chunk = ""
        while !chunk.hasSuffix("x\r\n") { chunk += String(decoding: try await far.read(1), as: UTF8.self) }
        try await far.write("1\r\nx\r\n")
      }
      _ = try await far.read(5)
      try await far.write("0\r\n\r\n")
      _ = try await far.readToEnd()
    }
    let transport = try server.transport()
    let (pieces, give) = AsyncStream.makeStream(of: Data.self)
    let body = RequestBody.stream(pieces, length: nil)
    let answer = try await transport.execute(
      .to("/", .post, body: body) { $0.delivery = .streamed(maximumBytes: nil) })
    var echoed = 0
    var reader = answer.body.makeAsyncIterator()
    for _ in 0..<3 {
      give.yield(Data("x".utf8))
      echoed += try await reader.next()?.count ?? 0
    }
    give.finish()
    #expect(try await reader.next() == nil && echoed == 3)
    #expect(answer.body.finalFacts?.bytesReceived == 3)
  }

  @Test("With Expect, the body is sent after 100 or a pause, and not after an error response")
  func expect() async throws {
    let clock = ManualClock()
    let heads = EventRecorder<String>()
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        heads.record(head)
        if head.contains("/refuses") {
          try await far.write("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        } else {
          if head.contains("/says") { try await far.write("HTTP/1.1 100 Continue\r\n\r\n") }
          _ = try await far.read(2 << 20)
          try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
      }
    }
    let transport = try server.transport { $0.timeSource = clock.timeSource }
    let body = RequestBody(source: .bytes(Data(count: 2 << 20)))
    #expect(try await transport.execute(.to("/says", .post, body: body)).head.status == .ok)
    #expect(try await transport.execute(.to("/refuses", .post, body: body)).head.status.code == 401)
    #expect(server.dials.count == 1)
    let silent = Task { try await transport.execute(.to("/silent", .post, body: body)) }
    _ = try await heads.waitForEvents(count: 3)
    // The connection of the refused request cannot be reused, because its server still expects a body.
    #expect(server.dials.count == 2)
    try #require(await eventually { clock.nextLimit == .seconds(1) })
    clock.advance(by: .seconds(1))
    #expect(try await silent.value.head.status == .ok)
    // The client does not ask this server for `100 Continue` again.
    #expect(try await transport.execute(.to("/again", .post, body: body)).head.status == .ok)
    #expect(heads.events.map { $0.contains("100-continue") } == [true, true, true, false])
  }

  @Test("A response that was sent before the server stopped reading is returned")
  func brokenWrite() async throws {
    let server = MemoryServer(.init(capacity: 1000)) { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
    }
    let transport = try server.transport()
    let body = RequestBody(source: .bytes(Data(count: 900_000)))
    let answer = try await transport.execute(.to("/", .post, body: body))
    #expect(answer.head.status.code == 413)
  }
}
