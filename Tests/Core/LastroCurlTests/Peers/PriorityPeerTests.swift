// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Priorities of requests (RFC 9218), at a server that orders responses by them, and in frames.
@Suite("Priorities", .timeLimit(.minutes(15)))
struct PriorityPeerTests {
  @Test("A server sends the responses in the order of their urgency")
  func order() async throws {
    let peer = try await PriorityPeer.start()
    let authority = try peer.certificates.authority
    let engine = Lock<CurlTransport?>(nil)
    // The handshake waits until all requests wait for its connection, so that their heads are sent together.
    let judge = ScriptedJudge { _, _ in
      for _ in 0..<20_000 where engine.withLock({ $0?.activeTransfers ?? 0 }) < 8 { usleep(1_000) }
      return .success(.validated)
    }
    let transport = try CurlTransport.with {
      $0.connection.proxy = .none
      $0.connection.tls.roots = .file(authority)
      $0.connection.tls.trustJudge = judge
    }
    engine.withLock { $0 = transport }
    defer { engine.withLock { $0 = nil } }
    let stack = TransportNetworkStack(transport: transport, configuration: .patient)
    let ended = EventRecorder<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for urgency in (0...7).reversed() {
        group.addTask {
          var options = RequestOptions()
          options.priority = RequestPriority(urgency: urgency)
          let answer = try await stack.send(.get, "https://localhost:\(peer.port)/part", options: options)
          ended.record(urgency)
          #expect(answer.value.count == PriorityPeer.partBytes && answer.response.facts.httpVersion == "2")
        }
      }
      try await group.waitForAll()
    }
    #expect(transport.openedConnections == 1)
    // Two responses that end one after the other may resume their tasks in either order.
    #expect(ended.events.first.map { $0 <= 1 } == true && ended.events.last.map { $0 >= 6 } == true)
    #expect(zip(ended.events, 0...7).allSatisfy { abs($0 - $1) <= 1 }, "\(ended.events)")
  }

  @Test(
    "A changed priority is sent in a frame, if the server has announced that it uses priorities",
    arguments: [true, false])
  func frames(isAnnounced: Bool) async throws {
    var settings = LoopbackHTTP2Settings()
    if isAnnounced { settings.others = [.init(9, 1)] }
    let received = EventRecorder<String>()
    let server = try LoopbackServer.http2Script(settings: settings) { connection in
      while let frame = try connection.readFrame() {
        switch frame.kind {
        case .settings where frame.flags == 0:
          try connection.write(LoopbackHTTP2Frame(.settings, flags: 1, stream: 0))
        case .headers: try connection.write(.head(200, stream: frame.stream), .data([1], stream: frame.stream))
        case 0x10:
          let stream = LoopbackHTTP2Frame.number(frame.payload.prefix(4))
          received.record("\(frame.stream) \(stream) \(String(decoding: frame.payload.dropFirst(4), as: UTF8.self))")
          try connection.write(.data([2], stream: stream, ends: true))
        case .resetStream: received.record("reset")
        default: break
        }
      }
    }
    let stack = try CurlNetworkStack.direct { $0.connection.httpVersion = .http2 }
    let body = try await stack.stream(try ResourceRequest(url: "http://127.0.0.1:\(server.port)/")).value
    #expect(throws: TransportError.self) { try body.setPriority(RequestPriority(urgency: -1)) }
    var pieces = body.makeAsyncIterator()
    #expect(try await pieces.next() == Data([1]))
    try body.setPriority(RequestPriority(urgency: 1, isIncremental: true))
    if isAnnounced { #expect(try await pieces.next() == Data([2])) } else { body.cancel() }
    try await received.waitForEvents(count: 1)
    #expect(received.events == [isAnnounced ? "0 1 u=1, i" : "reset"])
    // The body has ended.
    try body.setPriority(RequestPriority())
  }
}
