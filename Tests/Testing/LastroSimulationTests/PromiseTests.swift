// SPDX-License-Identifier: Apache-2.0

import PromiseSupport
import Testing

/// `make promises` makes as many calls as one likes, and `make long` ten million.
@Suite("Promises in simulations", .timeLimit(.minutes(5)))
struct PromiseTests {
  @Test("No POST is sent twice, no response reaches another caller, every deadline is kept, every permit is returned")
  func promises() async throws {
    let extent = try await Promises.run(calls: 10_000)
    #expect(extent.calls >= 10_000)
    #expect(extent.runs >= 50)
  }
}
