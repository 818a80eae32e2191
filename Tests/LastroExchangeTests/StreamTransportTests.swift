// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroExchange

/// Small exchanges of HTTP/1.1 over a stream, as meek makes them.
@Suite("HTTP/1.1 over streams", .timeLimit(.minutes(5)))
struct StreamTransportTests {
  /// Answers each request with these bytes, and says nothing more.
  private static func transport(_ answer: String, heads: NestedLog<String> = NestedLog()) -> StreamTransport {
    let dialer = MemoryDialer { _, stream in
      let far = NestedFarEnd(stream)
      heads.add(try await far.readHead())
      try await far.write(answer)
      _ = try await far.readToEnd()
    }
    return StreamTransport(over: dialer, role: .proxy)
  }

  private static func request(
    _ method: HTTPRequest.Method = .get, limit: Int = 100, fields: HTTPFields = [:]
  ) -> TransferRequest {
    TransferRequest(
      head: HTTPRequest(method: method, scheme: "http", authority: "h", path: "/", headerFields: fields),
      delivery: .collected(maximumBytes: limit), deadline: .seconds(60))
  }

  @Test("cookies go out in one field")
  func cookies() async throws {
    let heads = NestedLog<String>()
    var fields = HTTPFields()
    fields[.accept] = "a/b"
    fields[.cookie] = "a=1; b=2"
    let transport = Self.transport("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", heads: heads)
    _ = try await transport.execute(Self.request(fields: fields))
    #expect(heads.all == ["GET / HTTP/1.1\r\nHost: h\r\nAccept: a/b\r\nCookie: a=1; b=2\r\n\r\n"])
  }

  @Test("a length over the limit is refused from the head, but where there is no body")
  func announced() async throws {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"
    let error = try await #require(throws: TransportError.self) {
      try await Self.transport(answer).execute(Self.request())
    }
    #expect(error.stage == .limit && error.code == .bodyTooLarge && error.requestSent)
    #expect(error.message.contains("101") && error.message.contains("100"))
    #expect(try await Self.transport(answer).execute(Self.request(.head)).head.status == .ok)
  }

  @Test("a stream carries the next request only where the answer lets it")
  func reuse() async throws {
    let answers = [
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1), ("HTTP/1.1 204 No\r\n\r\n", 1),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n", 2),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nextra", 2), ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 2),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", 1),
    ]
    for (answer, dials) in answers {
      let dialed = NestedLog<String>()
      let dialer = MemoryDialer { _, stream in
        dialed.add("dial")
        let far = NestedFarEnd(stream)
        while !(try await far.readHead()).isEmpty { try await far.write(answer) }
      }
      let transport = StreamTransport(over: dialer, role: .proxy, reuse: .seconds(60))
      for _ in 0..<2 { _ = try await transport.execute(Self.request()) }
      #expect(dialed.all.count == dials, "\(answer.debugDescription)")
    }
  }

  @Test("a request that closes its connection leaves no stream behind")
  func closing() async throws {
    let dialed = NestedLog<String>()
    let dialer = MemoryDialer { _, stream in
      dialed.add("dial")
      let far = NestedFarEnd(stream)
      while !(try await far.readHead()).isEmpty { try await far.write("HTTP/1.1 204 No\r\n\r\n") }
    }
    let transport = StreamTransport(over: dialer, role: .proxy, reuse: .seconds(60))
    for _ in 0..<2 { _ = try await transport.execute(Self.request(fields: [.connection: "close"])) }
    #expect(dialed.all.count == 2)
  }

  @Test("a POST without a body says so")
  func emptyPost() async throws {
    let heads = NestedLog<String>()
    let transport = Self.transport("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", heads: heads)
    _ = try await transport.execute(Self.request(.post))
    #expect(heads.all == ["POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"])
  }

  @Test("a failure tells what is known about its connection")
  func facts() async throws {
    let error = try await #require(throws: TransportError.self) {
      try await Self.transport("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").execute(Self.request())
    }
    #expect(error.code == .malformedResponse && error.requestSent && error.facts != nil)
  }
}
