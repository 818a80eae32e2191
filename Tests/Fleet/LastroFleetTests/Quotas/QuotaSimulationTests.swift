// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("One quota for a hundred simulated instances", .ownThread)
struct QuotaSimulationTests {
  @Test("With fractions the quota is used to 98 % while all reach the store, and else by the shares of those that do")
  func fractions() throws {
    let result = try QuotaSimulation.fractions.get()
    #expect((0.98...1.005).contains(result.shares[0]), "\(result.shares)")
    #expect((0.6...1.005).contains(result.shares[1]), "\(result.shares)")
    #expect((0.98...1.005).contains(result.shares[2]), "\(result.shares)")
    #expect((0.93...1.005).contains(result.shares[3]), "\(result.shares)")
    // Those that send more than their fraction have that alone.
    #expect((0.5...0.7).contains(result.shares[4]), "\(result.shares)")
    #expect(result.excess <= Double(QuotaSimulation.burst + result.stalls), "\(result.excess)")
  }

  @Test("Without fractions the quota is used to 98 % by those that reach the store, also if instances crash and stall")
  func waiting() throws {
    let result = try QuotaSimulation.waiting.get()
    #expect(result.shares.count == QuotaSimulation.phases.count)
    for share in result.shares.dropLast() { #expect((0.98...1.005).contains(share), "\(result.shares)") }
    #expect(result.shares.last == 0, "\(result.shares)")
    #expect(result.excess <= Double(QuotaSimulation.burst + result.stalls), "\(result.excess)")
  }

  @Test("If instances lend and take a hundred units at once, there are at least 50 requests for each round trip")
  func trips() throws {
    let result = try QuotaSimulation.large.get()
    #expect(result.requests >= 50 * result.trips && result.trips > 0, "\(result)")
  }
}
