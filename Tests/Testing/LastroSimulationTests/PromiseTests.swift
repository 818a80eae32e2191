// SPDX-License-Identifier: Apache-2.0

import PromiseSupport
import Testing

/// `make promises` makes as many calls as one likes, and `make long` ten million.
@Suite("Promises in simulations", .timeLimit(.minutes(30)))
struct PromiseTests {
  @Test(
    "No POST is sent twice, no response reaches another caller, every deadline is kept, every permit is returned",
    // Several short series, because a busy machine takes minutes for a long one.
    arguments: [1, 101, 201, 301] as [UInt64])
  func promises(firstSeed: UInt64) async throws {
    let extent = try await Promises.run(calls: 2_500, from: firstSeed)
    #expect(extent.calls >= 2_500 && extent.runs >= 20)
  }
}
