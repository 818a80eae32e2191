// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport
import TestSupport
import Testing

@testable import LastroTesting

@Suite("HTTP/2: ten thousand streams", .serialized, .timeLimit(.minutes(15)))
struct ManyHTTP2StreamsTests {
  struct Load: Sendable, CustomTestStringConvertible {
    var shell: HTTP2Shell
    /// The number of streams besides the one that is not read.
    var others = 9_999
    /// The number of requests that the server waits for before it answers any.
    var atOnce: Int
    /// The number of streams per connection.
    var perConnection: Int
    var testDescription: String { "\(shell), \(others), \(atOnce) at once, \(perConnection) on a connection" }
  }

  /// The upper bound for unread bytes: a stream's window, its reader's buffer, and a piece on its way into the buffer.
  private static let bound = 1 << 20 + 64 << 10 + 64 << 10

  @Test(
    "One stream is never read; all others end, and its server can send no more than its window",
    arguments: [
      Load(shell: .direct, atOnce: 10_000, perConnection: 100),
      Load(shell: .direct, others: 3_000, atOnce: 1, perConnection: 100),
      Load(shell: .dialer, atOnce: 10_000, perConnection: 10_000),
    ])
  func oneUnread(_ load: Load) async throws {
    let server = try GreedyServer(load)
    let transport = try load.shell.transport(streams: max(load.atOnce, load.perConnection))
    let unread = try await transport.execute(
      .to(server.loopback, "/unread") { $0.delivery = .streamed(maximumBytes: nil) })
    let answers = await withTaskGroup(of: String.self) { group in
      for number in 1...load.others {
        let request = TransferRequest.to(server.loopback, "/\(number)") { $0.deadline = .seconds(240) }
        group.addTask {
          do throws(TransportError) {
            return "\(try await transport.execute(request).body.bytes?.count ?? 0) bytes"
          } catch {
            return error.words
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    #expect(answers == ["\(GreedyServer.bytes) bytes": load.others])
    #expect(server.loopback.acceptedConnections == max(1, load.atOnce / load.perConnection))
    let sent = server.sent.withLock { $0 }
    #expect((1 << 16...Self.bound).contains(sent), "\(sent)")
    #expect(try await unread.body.collect(upTo: .max).count == GreedyServer.unreadBytes)
  }
}

/// An HTTP/2 server that sends one answer as far as flow control allows, and the others once enough requests have
/// arrived.
private struct GreedyServer {
  /// The size of the answer that is never read.
  static let unreadBytes = 4 << 20
  /// The size of each other answer. Together they exceed a connection's initial window.
  static let bytes = 2_000

  let loopback: LoopbackServer
  /// The number of sent bytes of the first answer's body.
  let sent: Lock<Int>

  init(_ load: ManyHTTP2StreamsTests.Load) throws {
    let sent = Lock(0)
    let asked = Lock(0)
    let gate = try LoopbackGate()
    self.sent = sent
    loopback = try LoopbackServer.http2Script { http2 in
      var waiting: [UInt32] = []
      var unread: UInt32?
      while let frame = try http2.readFrame() {
        try http2.handle(frame)
        while let request = http2.nextRequest(), let stream = request.stream {
          if request.path == "/unread" {
            unread = stream
            try http2.write(.head(200, stream: stream))
          } else {
            waiting.append(stream)
          }
          asked.withLock {
            $0 += 1
            if $0 == load.atOnce { gate.open() }
          }
        }
        if waiting.count + (unread == nil ? 0 : 1) >= min(load.perConnection, load.atOnce), !waiting.isEmpty {
          http2.connection.wait(for: gate)
          for stream in waiting { try http2.answer(stream) }
          waiting = []
        }
        if let unread { try http2.press(unread, sent) }
      }
    }
  }
}

extension LoopbackHTTP2Connection {
  fileprivate func answer(_ stream: UInt32) throws {
    try write(.head(200, stream: stream))
    while window < GreedyServer.bytes, let frame = try readFrame() { try handle(frame) }
    window -= GreedyServer.bytes
    streams[stream] = nil
    try write(.data([UInt8](repeating: 7, count: GreedyServer.bytes), stream: stream, ends: true))
  }

  /// Sends as many bytes as the windows allow.
  fileprivate func press(_ stream: UInt32, _ sent: borrowing Lock<Int>) throws {
    while let room = streams[stream]?.window, case let before = sent.withLock({ $0 }), before < GreedyServer.unreadBytes
    {
      let count = min(room, window, 16_384, GreedyServer.unreadBytes - before)
      guard count > 0 else { return }
      window -= count
      streams[stream]?.window -= count
      sent.withLock { $0 += count }
      let ends = before + count == GreedyServer.unreadBytes
      try write(.data([UInt8](repeating: 7, count: count), stream: stream, ends: ends))
    }
  }
}
