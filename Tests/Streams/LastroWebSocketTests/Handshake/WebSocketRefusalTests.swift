// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

@testable import LastroCurl

/// Handshakes that are refused: the status decides, whatever happens to the body.
@Suite("Refused WebSocket handshakes", .timeLimit(.minutes(15)))
struct WebSocketRefusalTests {
  struct Body: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: String
    /// Whether the server ends the connection after the body. If not, it stays silent.
    var ends: Bool
    var kept: String
    var testDescription: String { name }
  }

  static let bodies = [
    Body(name: "slow", bytes: "Content-Length: 100\r\n\r\nabc", ends: false, kept: "abc"),
    Body(name: "cut", bytes: "Content-Length: 100\r\n\r\nabc", ends: true, kept: "abc"),
    Body(name: "cut chunk", bytes: "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", ends: true, kept: "abc"),
    Body(name: "bad chunk", bytes: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", ends: false, kept: "abc"),
    Body(name: "none", bytes: "Content-Length: 100\r\n\r\n", ends: false, kept: ""),
    Body(
      name: "long", bytes: "Content-Length: 1000000000\r\n\r\n" + String(repeating: "x", count: 5_000), ends: false,
      kept: String(repeating: "x", count: 4_096)),
  ]

  /// Returns a client of a server that responds with a status line and these bytes.
  private static func client(_ status: String, _ bytes: String, ends: Bool) -> WebSocketClient {
    let dialer = MemoryDialer { _, stream in
      let far = FarEnd(stream)
      let head = try await far.readHead()
      try await far.write(
        head.hasPrefix("GET /end ") ? "HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\nend" : status + bytes)
      if !ends { _ = try await far.readToEnd() }
    }
    var client = memoryClient(over: dialer, clock: nil)
    client.stack.maximumErrorBodyBytes = 4_096
    return client
  }

  private func refusal(_ client: WebSocketClient) async throws -> HTTPFetchError<any Error> {
    let error = try await #require(throws: WebSocketError.self) { try await client.connect("ws://h/") }
    guard case .handshake(let fetch) = error.reason else { throw error }
    return fetch
  }

  @Test("A refusal keeps its status and the received part of its body", arguments: bodies)
  func status(_ body: Body) async throws {
    let fetch = try await refusal(Self.client("HTTP/1.1 401 Unauthorized\r\n", body.bytes, ends: body.ends))
    #expect(fetch.stage == .http && fetch.code == .unexpectedStatus && fetch.statusCode == .unauthorized)
    #expect(fetch.body == Data(body.kept.utf8))
  }

  @Test("A redirect is followed when its head arrives", arguments: bodies)
  func redirect(_ body: Body) async throws {
    let fetch = try await refusal(Self.client("HTTP/1.1 302 Found\r\nLocation: /end\r\n", body.bytes, ends: body.ends))
    #expect(fetch.statusCode == .forbidden && fetch.body == Data("end".utf8))
  }

  @Test("Cookies are sent in one field")
  func cookies() async throws {
    let heads = EventRecorder<String>()
    let dialer = MemoryDialer { _, stream in
      let far = FarEnd(stream)
      heads.record(try await far.readHead())
      try await far.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
    }
    var request = try ResourceRequest(url: "http://h/")
    request.head.headerFields[.cookie] = "a=1; b=2"
    let client = memoryClient(over: dialer)
    await #expect(throws: WebSocketError.self) { try await client.connect(to: RawHTTPResource.raw(request)) }
    #expect(heads.events.first?.components(separatedBy: "ookie: ").count == 2)
    #expect(heads.events.first?.contains("\r\nCookie: a=1; b=2\r\n") == true)
  }
}
