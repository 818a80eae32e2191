// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import Testing

@Suite("Response bodies of closures and sequences", .timeLimit(.minutes(15)))
struct ResponseBodyTests {
  @Test("A body of closures has their chunks and facts, and is cancelled when it is released")
  func closures() async throws {
    let chunks = Lock([Data("a".utf8), Data("b".utf8)])
    let cancellations = Lock(0)
    do {
      let body = ResponseBody(
        next: { () async throws(TransportError) -> Data? in
          chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }, cancel: { cancellations.withLock { $0 += 1 } }, finalFacts: { TransferFacts(bytesReceived: 2) })
      let collected = try await body.collect(upTo: 9)
      #expect(collected == Data("ab".utf8))
      let facts = body.finalFacts
      #expect(facts?.bytesReceived == 2)
    }
    #expect(cancellations.withLock { $0 } > 0)
  }

  @Test("A body of closures fails with their error")
  func failure() async throws {
    let body = ResponseBody(next: { () async throws(TransportError) -> Data? in
      throw TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
    })
    let error = await #expect(throws: TransportError.self) { _ = try await body.collect(upTo: 9) }
    #expect(error?.code == .truncatedBody)
  }

  @Test("A body of a sequence has its chunks that are not empty, and then its end")
  func sequence() async throws {
    let (chunks, source) = AsyncStream.makeStream(of: Data.self)
    for text in ["a", "", "b"] { source.yield(Data(text.utf8)) }
    source.finish()
    let body = ResponseBody(chunks)
    var read: [String] = []
    for try await chunk in body { read.append(String(decoding: chunk, as: UTF8.self)) }
    #expect(read == ["a", "b"] && body.bytes == nil)
    var iterator = body.makeAsyncIterator()
    #expect(try await iterator.next() == nil)
  }

  @Test(
    "An error of a sequence ends the body: a transport error as it is, any other as receive_failed",
    arguments: [
      (TransportError(stage: .timeout, code: .idleTimeout, message: "stalled") as any Error, FailureCode.idleTimeout),
      (CocoaError(.fileReadUnknown), .receiveFailed),
    ])
  func sequenceFailure(thrown: any Error, code: FailureCode) async throws {
    let (chunks, source) = AsyncThrowingStream.makeStream(of: Data.self)
    source.yield(Data("a".utf8))
    source.finish(throwing: thrown)
    var iterator = ResponseBody(chunks).makeAsyncIterator()
    #expect(try await iterator.next() == Data("a".utf8))
    let error = await #expect(throws: TransportError.self) { _ = try await iterator.next() }
    #expect(error?.code == code)
    #expect(try await iterator.next() == nil)
  }

  @Test("Cancelling a body of a sequence ends a read that waits, and the sequence", arguments: [true, false])
  func sequenceCancelled(byReader: Bool) async throws {
    let (chunks, source) = AsyncStream.makeStream(of: Data.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    source.onTermination = { _ in end.finish() }
    source.yield(Data("a".utf8))
    let (reads, hasRead) = AsyncStream.makeStream(of: Void.self)
    let body = ResponseBody(chunks)
    let reading = Task {
      for try await _ in body { hasRead.finish() }
    }
    for await _ in reads {}
    if byReader { reading.cancel() } else { body.cancel() }
    let error = await #expect(throws: TransportError.self) { try await reading.value }
    #expect(error?.code == .cancelled)
    for await _ in ends {}
    await #expect(throws: TransportError.self) { try await body.collect(upTo: 9) }
  }
}
