// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

/// A stream whose first write returns late. The server may have its bytes, and may have answered, before the write
/// returns.
private final class LateWriter: ByteStream {
  private let base: MemoryStream
  private let gate: AsyncStream<Void>
  private let writing = Lock(0)
  let reads = EventRecorder<Int>()

  init(_ base: MemoryStream, until gate: AsyncStream<Void>) {
    self.base = base
    self.gate = gate
  }

  var isWriting: Bool { writing.withLock { $0 > 0 } }
  var facts: StreamFacts { base.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    let data = try await base.read(upTo: maximum, within: limit)
    reads.record(data?.count ?? 0)
    return data
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    writing.withLock { $0 += 1 }
    defer { writing.withLock { $0 -= 1 } }
    try await base.write(data, within: limit)
    for await _ in gate { break }
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await base.finishWriting(within: limit)
  }

  func close() { base.close() }
}

@Suite("Streams handed over after an upgrade", .timeLimit(.minutes(15)))
struct HandOverTests {
  @Test("The stream has no pending write when it is handed over, even if the response came before the write returned")
  func lateWrite() async throws {
    let (near, far) = MemoryStream.pair()
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let stream = LateWriter(near, until: gate)
    let task = Task {
      var request = TransferRequest(head: HTTPRequest(method: .connect, scheme: nil, authority: "h:1", path: "h:1"))
      request.deadline = .seconds(200)
      let answer = try await LoneExchange.run(request, over: stream, asking: .connect)
      #expect(!stream.isWriting)
      return try #require(answer.body.upgraded)
    }
    _ = try await far.read()
    try await far.write(Data("HTTP/1.1 200 OK\r\n\r\nearly".utf8))
    _ = try await stream.reads.waitForEvents(count: 1)
    open.finish()
    let tunnel = try await task.value
    #expect(try await tunnel.bytes(exactly: 5) == Data("early".utf8))
    try await tunnel.write(Data("x".utf8))
    #expect(try await far.read() == Data("x".utf8))
    tunnel.close()
  }
}
