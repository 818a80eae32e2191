// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro

/// Thousands of calls on a simulated clock. A failure names its seed: `LabCall(Scenario(seed: …))` repeats it.
@Suite("Laboratory")
struct LabTests {
  static let chunk: UInt64 = 150

  @Test("whatever servers, policies, hooks and callers do, the promises hold", arguments: 0..<UInt64(40))
  func promises(chunk: UInt64) async throws {
    var calls: [LabCall] = []
    for seed in stride(from: chunk * Self.chunk, to: (chunk + 1) * Self.chunk, by: SeedStride.value) {
      let call = try LabCall(Scenario(seed: seed))
      try await call.run()
      LabProperties(call).check()
      calls.append(call)
    }
    // Not earlier: a second completion would come late.
    for call in calls where call.seen.completions != 1 {
      Issue.record("seed \(call.scenario.seed): \(call.seen.completions) completions")
    }
    // Two calls never share a key that was made for one.
    let keys = calls.filter { $0.scenario.idempotency == .generatedKey && !$0.scenario.hasKeyField }
      .compactMap { $0.seen.executions.first?.key }
    #expect(Set(keys).count == keys.count)
  }

  @Test("a seed repeats everything: answers, waits, tokens, times", arguments: 0..<UInt64(10))
  func repeatable(chunk: UInt64) async throws {
    for seed in chunk * 30..<(chunk + 1) * 30 {
      var accounts: [String] = []
      for _ in 0..<2 {
        let call = try LabCall(Scenario(seed: seed))
        try await call.run()
        let properties = LabProperties(call)
        let account = properties.ledger.description.split(separator: "\n").dropFirst().joined(separator: "\n")
        accounts.append("\(account)\n\(call.clock.sleeps)\n\(call.seen.events)")
      }
      #expect(accounts[0] == accounts[1], "seed \(seed)")
    }
  }
}
