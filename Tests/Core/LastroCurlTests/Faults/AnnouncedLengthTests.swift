// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Bodies whose heads announce a length above the limit.
@Suite("Faults: announced lengths", .overEachLink, .timeLimit(.minutes(15)))
struct AnnouncedLengthTests {
  private static func server(_ answer: String) throws -> LoopbackServer {
    try LoopbackServer { connection in
      while try connection.readHead() != nil {
        try connection.write(answer)
        connection.stall()
      }
    }
  }

  @Test("A Content-Length over the limit is refused when the head arrives", arguments: [false, true])
  func refused(isStream: Bool) async throws {
    let server = try Self.server("HTTP/1.1 200 OK\r\nContent-Length: 10000000000000\r\n\r\nabc")
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server) {
      $0.delivery = isStream ? .streamed(maximumBytes: 1_048_576) : .collected(maximumBytes: 1_048_576)
      $0.deadline = .seconds(60)
    }
    #expect(error.words == "limit/body_too_large" && error.requestSent && error.head?.status == .ok)
    #expect(error.message.contains("10000000000000") && error.message.contains("1048576"))
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("Over HTTP/2 a refused length keeps the connection", arguments: [false, true])
  func http2(isStream: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { request in
      guard request.path == "/" else { return .text("fine") }
      return LoopbackResponse(
        body: Array(repeating: 0x78, count: 2_000), fault: .http2(.stall, at: .body(after: 3)))
    }
    let error = try await lab.failure(server) {
      $0.delivery = isStream ? .streamed(maximumBytes: 1_999) : .collected(maximumBytes: 1_999)
      $0.deadline = .seconds(60)
    }
    #expect(error.words == "limit/body_too_large")
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
  }

  @Test("A Content-Length of a response without body, or of a compressed body, is not checked against the limit")
  func accepted() async throws {
    let coded: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 0x4c, 0x4c, 4, 0, 0x45, 0xe5, 0x98, 0xad, 4, 0, 0, 0,
    ]
    let server = try LoopbackServer.http { request in
      switch request.path {
      case "/coded": LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: coded)
      case "/limit": .text("12345")
      default: LoopbackResponse(status: request.path == "/204" ? 204 : 200, headers: ["Content-Length": "1000000"])
      }
    }
    let engine = try LinkKind.current.engine()
    for (path, method, outcome) in [
      ("/coded", HTTPRequest.Method.get, Outcome.answered(200, "aaaa")), ("/limit", .get, .answered(200, "12345")),
      ("/", .head, .answered(200, "")), ("/204", .get, .answered(204, "")),
    ] {
      #expect(
        await engine.outcome(server, path, method: method) { $0.delivery = .collected(maximumBytes: 5) } == outcome,
        "\(path)")
    }
  }

  @Test("Only as much of an error's body is read as is kept", arguments: [false, true])
  func errors(isStream: Bool) async throws {
    let head = "HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n"
    let server = try Self.server(head + "1001\r\n" + String(repeating: "x", count: 4_097) + "\r\n")
    var configuration = StackConfiguration()
    configuration.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(60))
    configuration.streamTimeouts = configuration.timeouts
    configuration.maximumErrorBodyBytes = 4_096
    let engine = try LinkKind.current.engine()
    let stack = TransportNetworkStack(transport: engine, configuration: configuration.replayed)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: server.baseURL))
    let error = try await #require(throws: HTTPFetchError<any Error>.self) {
      if isStream { _ = try await stack.stream(resource) } else { _ = try await stack.fetch(resource) }
    }
    #expect(error.words == "http/unexpected_status" && error.statusCode == .internalServerError)
    #expect(error.body == Data(repeating: 0x78, count: 4_096))
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }
}
