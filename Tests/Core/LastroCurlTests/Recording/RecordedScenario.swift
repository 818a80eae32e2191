// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import TestSupport
import Testing

extension StackConfiguration {
  /// The configuration with the recorder of the running test case.
  var replayed: Self {
    var result = self
    result.recorder = RecordedScenario.recorder
    return result
  }
}

/// The calls that a test case makes while it is recorded, and their replays.
///
/// In the suites that `Docs/Replays.md` lists, the first case of each test is recorded, and of the others one of every
/// `SeedStride`.
enum RecordedScenario {
  /// The recorder of the running test case; `nil` if it is not recorded.
  @TaskLocal static var recorder: CallRecorder?

  /// The replays of a suite in this process.
  struct Tally {
    /// The tests that made calls.
    var tests: Set<Test.ID> = []
    var calls = 0
    var omissions: Set<ReplayOmission> = []
  }

  private static let suites = Set(((try? ReplayPage())?.rows ?? [:]).keys)
  private static let begun = Lock<[Test.ID: Int]>([:])
  private static let tallies = Lock<[String: Tally]>([:])

  /// Returns whether the next case of a test is recorded.
  static func isChosen(_ test: Test) -> Bool {
    guard let suite = test.id.nameComponents.first, suites.contains(suite) else { return false }
    return begun.withLock { begun in
      defer { begun[test.id, default: 0] += 1 }
      return begun[test.id, default: 0] % SeedStride.value == 0
    }
  }

  /// Returns the replays of a suite so far.
  static func tally(of suite: String) -> Tally { tallies.withLock { $0[suite] } ?? Tally() }

  /// Runs a test case, replays its calls, and asserts that their ledgers are those that were recorded.
  static func run(_ body: () async throws -> Void, of test: Test) async throws {
    let calls = try RecordedCalls(maximumBytes: 8 << 20, maximumTraces: 10_000)
    try await $recorder.withValue(calls.recorder) { try await body() }
    if let error = calls.recorder.writeError { Issue.record(error) }
    var omissions: Set<ReplayOmission> = []
    for file in calls.recorder.files {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let trace = try CallTrace(reading: text)
      let outcome = try await RecordedCalls.replay(text)
      #expect(outcome.ledger == trace.ledger)
      #expect(outcome.json == trace.ledgerJSON && outcome.isEqual, "\(text.prefix(20_000))")
      omissions.formUnion(outcome.omissions)
    }
    let count = calls.recorder.files.count
    guard count > 0, let suite = test.id.nameComponents.first else { return }
    let found = omissions
    tallies.withLock { tallies in
      tallies[suite, default: Tally()].tests.insert(test.id)
      tallies[suite, default: Tally()].calls += count
      tallies[suite, default: Tally()].omissions.formUnion(found)
    }
  }
}
