// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import Testing

@Suite("Response bodies of closures", .timeLimit(.minutes(5)))
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
}
