// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("HTTP/1.1 exchanges over links in memory")
struct VirtualExchangeTests {
  private static let response =
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n"
    + "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nSum: 11\r\n\r\n"

  @Test("A response is the same wherever it is split in two", arguments: 0...response.utf8.count)
  func split(at position: Int) {
    let engine = VirtualEngine()
    let bytes = Array(Self.response.utf8)
    engine.network.serveHTTP1 { server, _ in
      server.far.send(bytes[..<position])
      server.far.send(bytes[position...], after: .milliseconds(1))
    }
    let call = engine.start(.to())
    engine.advance(by: .milliseconds(1))
    expectWhole(call, engine)
  }

  @Test("A response is the same where each read returns a few bytes", arguments: 1...7)
  func smallReads(limit: Int) {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in
      .open { link in
        link.readLimit = limit
        _ = MemoryHTTP1Server(link.far) { server, _ in server.far.send(Self.response) }
      }
    }
    expectWhole(engine.start(.to()), engine)
  }

  private func expectWhole(_ call: VirtualCall, _ engine: VirtualEngine) {
    #expect(call.text == "hello world")
    #expect(call.response?.facts.trailers.first?.value == "11")
    #expect(engine.network.openCount == 1 && engine.activeJobs == 0)
  }

  @Test("A response that is cut at any byte, cleanly or by a reset, fails", arguments: [true, false])
  func cut(isReset: Bool) {
    let bytes = Array(Self.response.utf8)
    // The offset behind the interim head and the final one.
    let bodyStart = bytes.count - "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nSum: 11\r\n\r\n".utf8.count
    for position in 0..<bytes.count {
      let engine = VirtualEngine()
      engine.network.serveHTTP1 { server, _ in
        server.far.send(bytes[..<position])
        if isReset { server.far.reset(after: .milliseconds(1)) } else { server.far.end(after: .milliseconds(1)) }
      }
      let call = engine.start(.to())
      engine.advance(by: .milliseconds(1))
      let code = call.error?.code
      #expect(call.error?.requestSent == true, "at \(position)")
      if position >= bodyStart {
        #expect(code == .truncatedBody, "at \(position): \(call.words)")
      } else {
        #expect(code == .connectionLost || code == .malformedResponse, "at \(position): \(call.words)")
      }
      #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
    }
  }

  @Test("An idle connection that its server has closed carries no request")
  func closedWhileIdle() {
    let engine = VirtualEngine()
    engine.network.echo()
    _ = engine.start(.to())
    engine.network.links[0].far.end()
    engine.settle()
    #expect(engine.network.openCount == 0)
    #expect(engine.start(.to("/2"), sourceLocation: #_sourceLocation).text == "/2")
    #expect(engine.network.dials.count == 2)
  }

  /// Returns an engine whose first connection closes when its second request arrives.
  private func closing(_ requests: @escaping (String) -> Void, by close: @escaping (MemoryPeer) -> Void)
    -> VirtualEngine
  {
    let engine = VirtualEngine()
    let network = engine.network
    network.serveHTTP1 { server, request in
      requests("\(request.method) \(request.target)")
      if network.links.count == 1, server.requests.count == 2 { return close(server.far) }
      server.respond(request.target)
    }
    #expect(engine.start(.to("/first")).text == "/first")
    return engine
  }

  @Test(
    "A GET is sent again when a reused connection closes without a response, and a POST is not",
    arguments: [true, false])
  func resend(isReset: Bool) {
    for method in ["GET", "POST"] {
      var seen: [String] = []
      let engine = closing({ seen.append($0) }, by: { isReset ? $0.reset() : $0.end() })
      let call = engine.start(
        .to(
          "/second", method == "GET" ? .get : .post,
          body: method == "GET" ? .empty : RequestBody(source: .bytes(Data("b".utf8)))
        ) {
          $0.allowsResend = method == "GET"
        })
      if method == "GET" {
        #expect(call.text == "/second" && call.response?.facts.resends == 1)
        #expect(seen == ["GET /first", "GET /second", "GET /second"])
      } else {
        #expect(call.words == "send/connection_lost" && call.error?.requestSent == true, "\(call.words)")
        #expect(seen == ["GET /first", "POST /second"])
      }
      #expect(engine.activeJobs == 0)
    }
  }

  @Test("A GET on a connection that has served no other is not sent again")
  func noResendOnFresh() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, _ in server.far.end() }
    let call = engine.start(.to { $0.allowsResend = true })
    #expect(call.words == "response/connection_lost")
    #expect(engine.network.dials.count == 1)
  }

  @Test("A response to an upload that the server does not read is delivered, and its connection is closed")
  func earlyResponse() {
    let engine = VirtualEngine()
    engine.network.dialing = { _ in
      .open { link in
        link.far.capacity = 10_000
        let server = MemoryHTTP1Server(link.far) { _, _ in }
        server.onHead = { server, _ in
          server.far.accepts = false
          server.respond("too large", status: 413, fields: ["Connection": "close"])
        }
      }
    }
    let call = engine.start(.to("/", .post, body: RequestBody(source: .bytes(Data(count: 1_000_000)))))
    engine.advance(by: .seconds(5))
    #expect(call.status == 413 && call.text == "too large")
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }

  @Test("An upload arrives complete when the peer accepts a few bytes at a time")
  func narrow() {
    let engine = VirtualEngine()
    var bodies: [Int] = []
    engine.network.dialing = { _ in
      .open { link in
        link.far.capacity = 1_000
        link.far.latency = .milliseconds(1)
        _ = MemoryHTTP1Server(link.far) { server, request in
          bodies.append(request.body.count)
          server.respond("ok")
        }
      }
    }
    let call = engine.start(.to("/", .post, body: RequestBody(source: .bytes(Data(count: 20_000)))))
    engine.advance(by: .seconds(1))
    #expect(call.text == "ok" && bodies == [20_000])
  }

  @Test("Bytes behind a response close its connection and are not part of the next response")
  func unsolicited() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    let network = engine.network
    network.serveHTTP1 { server, request in
      let more = network.links.count == 1 ? MemoryHTTP1Server.response("stray") : ""
      server.far.send(MemoryHTTP1Server.response(request.target) + more)
    }
    let calls = (0..<3).map { engine.submit(.to("/\($0)")) }
    engine.advance(by: .seconds(1))
    #expect(calls.map(\.text) == ["/0", "/1", "/2"])
    #expect(engine.network.dials.count == 2)
  }
}
