// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Event streams of faulty servers", .timeLimit(.minutes(15)))
struct EventFaultTests {
  private func stack() throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    var configuration = StackConfiguration()
    configuration.randomSource = RandomSource { 0 }
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  private static func answer(_ body: String, fault: LoopbackResponse.Fault? = nil) -> LoopbackResponse {
    LoopbackResponse(headers: ["Content-Type": "text/event-stream"], body: Array(body.utf8), fault: fault)
  }

  @Test(
    "An event that a fault cuts off arrives over the next connection",
    arguments: [
      LoopbackResponse.Fault.reset, .close, .truncateBody(after: 0), .truncateBody(after: 30),
      .truncateBody(after: 50),
    ])
  func faults(fault: LoopbackResponse.Fault) async throws {
    let body = "retry: 1\n\nid: 2\ndata: b\n\nid: 3\ndata: c\n\nid: 4\ndata: d\n\n"
    let server = try LoopbackServer.http { request in
      switch request.head["Last-Event-ID"] {
      case "1": Self.answer(body, fault: fault)
      case let id?: id == "4" ? LoopbackResponse(status: 204) : Self.answer("id: 4\ndata: last\n\n")
      case nil: Self.answer("retry: 1\nid: 1\ndata: a\n\n")
      }
    }
    let stream = try stack().events(.get(server.baseURL), maximumReconnections: 2)
    let data = await stream.data()
    if fault == .truncateBody(after: 30) {
      #expect(data == ["a", "b", "last"])
    } else if fault == .truncateBody(after: 50) {
      #expect(data == ["a", "b", "c", "last"])
    } else {
      // Each attempt ends without a new event, until the limit of such attempts is reached.
      #expect(data.first == "a")
      #expect(data.count == 2)
      #expect(server.requests.count >= 3)
    }
  }

  @Test("A server that falls silent is disconnected after the idle timeout and contacted again")
  func silence() async throws {
    let server = try LoopbackServer.http { request in
      switch request.head["Last-Event-ID"] {
      case nil: Self.answer("retry: 1\nid: 1\ndata: a\n\ndata: b\n\n", fault: .stallBody(after: 30))
      case "1": Self.answer("id: 2\ndata: b\n\n")
      default: LoopbackResponse(status: 204)
      }
    }
    var request = try ResourceRequest(url: server.baseURL)
    request.options.timeouts = .streaming
    request.options.timeouts?.idle = .milliseconds(300)
    #expect(await (try stack()).events(.raw(request)).data() == ["a", "b"])
  }

  @Test("An event of 100 MB is refused while it arrives, and is not requested again")
  func hugeEvent() async throws {
    let written = Lock(0)
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
      try connection.write("data: a\n\ndata: ")
      let piece = [UInt8](repeating: 0x61, count: 1 << 16)
      for _ in 0..<1_600 {
        try connection.write(piece)
        written.withLock { $0 += piece.count }
      }
    }
    let data = await (try stack()).events(.get(server.baseURL)).data()
    #expect(data == ["a", "limit/event_too_large"])
    // The buffers of the system and of the engine hold less than this.
    #expect(written.withLock { $0 } < 40 << 20)
    #expect(server.requests.count == 1)
  }

  @Test("Leaving the loop ends the connection, as the server sees")
  func leaving() async throws {
    let isGone = Lock(false)
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
      try connection.write("data: a\n\n")
      connection.stall()
      isGone.withLock { $0 = true }
    }
    for try await event in try stack().events(.get(server.baseURL)) {
      #expect(event.data == "a")
      break
    }
    #expect(await eventually { isGone.withLock { $0 } })
  }
}
