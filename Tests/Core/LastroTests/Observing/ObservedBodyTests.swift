// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Observed bodies", .timeLimit(.minutes(15)))
struct ObservedBodyTests {
  /// A body source that returns a piece once the test provides it.
  private final class Waiting: ResponseBodySource {
    let reads = EventRecorder<Void>()
    let pieces: AsyncStream<Data>

    init(_ pieces: AsyncStream<Data>) { self.pieces = pieces }

    var finalFacts: TransferFacts? { nil }

    func next() async throws(TransportError) -> Data? {
      reads.record(())
      for await piece in pieces { return piece }
      return nil
    }

    func cancel() {}
  }

  @Test("A second reader gets an error because there is a first, and not the end of the body")
  func twoReaders() async throws {
    let (pieces, give) = AsyncStream.makeStream(of: Data.self)
    let source = Waiting(pieces)
    let body = ObservedBody(
      ResponseBody(source: source), observers: [], time: ManualClock().timeSource, callID: 1, attempt: 1, hop: 0,
      operation: nil, progress: nil)
    let first = Task { try await body.next() }
    _ = try await source.reads.waitForEvents(count: 1)
    let error = try await #require(throws: TransportError.self) { try await body.next() }
    #expect(error.code == .invalidBody)
    give.yield(Data([1]))
    #expect(try await first.value == Data([1]))
    give.finish()
    #expect(try await body.next() == nil)
  }
}
