// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing

@testable import Lastro

/// What has to hold of every call, whatever happened to it.
struct LabProperties {
  let scenario: Scenario
  let call: LabCall
  let seen: LabCall.State
  let clock: SimulatedClock
  let ledger: AttemptLedger
  let error: HTTPFetchError<any Error>?

  var attempts: [Attempt] { ledger.attempts }

  init(_ call: LabCall) {
    self.call = call
    scenario = call.scenario
    seen = call.seen
    clock = call.clock
    switch seen.outcome {
    case .success(let response)?:
      ledger = response.ledger
      error = nil
    case .failure(let failure)?:
      ledger = failure.ledger
      error = failure
    case nil:
      ledger = .empty
      error = nil
    }
  }

  func expect(_ holds: Bool, _ words: @autoclosure () -> String) {
    if !holds {
      Issue.record("seed \(scenario.seed): \(words())\n\(ledger)\n\(seen.events)\n\(error?.description ?? "")")
    }
  }

  func executions(_ attempt: Int) -> [LabCall.Execution] { seen.executions.filter { $0.attempt == attempt } }

  func check() {
    expect(seen.outcome != nil && seen.completions == 1, "one completion")
    checkAttempts()
    checkWaits()
    checkDeadline()
    checkResending()
    checkKeys()
    checkQuota()
    checkLedger()
    checkEvents()
    expect(!seen.isCancelled || error?.isCancelled == true, "whoever cancelled gets the cancelled error")
  }

  private func checkAttempts() {
    expect(attempts.count <= max(1, scenario.allowedAttempts), "at most \(scenario.allowedAttempts) attempts")
    for attempt in attempts {
      let transfers = executions(attempt.number).count
      expect(
        transfers == attempt.redirects.count + (attempt.facts == nil ? 0 : 1),
        "attempt \(attempt.number) made \(transfers) transfers")
      let wasSent = executions(attempt.number).contains(where: \.wasSent)
      expect(attempt.requestSent == wasSent, "attempt \(attempt.number): sent is \(wasSent)")
    }
    expect(seen.executions.allSatisfy { (1...max(1, attempts.count)).contains($0.attempt) }, "no transfer is left out")
  }

  /// Every wait that was begun or made.
  private func checkWaits() {
    let delays = attempts.map(\.delay).filter { $0 > .zero }
    let wasBrokenOff = clock.sleeps.count == delays.count + 1 && seen.isCancelled
    expect(
      clock.sleeps == delays || wasBrokenOff && clock.sleeps.dropLast() == delays[...], "the delays are the sleeps")
    for (before, after) in zip(attempts, attempts.dropFirst()) {
      guard let last = executions(before.number).last, let until = last.until, before.status?.code == last.status else {
        expect(after.delaySource != .retryAfter, "attempt \(after.number) waits for what nobody asked")
        continue
      }
      let start = SimulatedClock.epoch + after.start
      expect(start >= until, "attempt \(after.number) comes before Retry-After")
      let demand = until - SimulatedClock.epoch - last.end
      // A date without the server's clock is known to the second only.
      expect(demand <= scenario.maximumRetryAfter, "attempt \(after.number) waits for too long a Retry-After")
      guard after.delaySource == .retryAfter else { continue }
      let longest = (demand + .seconds(1)) * 1.1 + .milliseconds(1)
      expect(after.delay <= min(longest, demand + .seconds(2)), "attempt \(after.number): a spread of a second at most")
    }
  }

  private func checkDeadline() {
    guard let total = scenario.total else { return }
    for execution in seen.executions {
      expect(execution.start < total, "a transfer is begun after the deadline")
      expect(
        execution.deadline.map { $0 > .zero && execution.start + $0 <= total } ?? false, "its limit is what is left")
    }
    for attempt in attempts.dropFirst() {
      expect(attempt.start - attempt.delay < total && attempt.start < total, "no wait is begun that ends too late")
    }
    // A clock moves by what nobody can interrupt too: by a hook that says that it does not wait.
    if scenario.guests.allSatisfy({ if case .hooks(false) = $0 { false } else { true } }) {
      expect(clock.now <= total + .seconds(1), "it ends at \(clock.now.brief)")
    }
  }

  /// Nothing is sent twice that must not be.
  private func checkResending() {
    for before in attempts.dropLast() {
      let sent = executions(before.number)
      guard sent.contains(where: \.wasSent), !scenario.isIdempotent else { continue }
      expect(
        before.redirects.isEmpty && [401, 407, 421].contains(before.status?.code ?? 0),
        "a \(scenario.method) is sent again after attempt \(before.number)")
    }
    if scenario.body == .oneShot { expect(seen.opens <= 1, "a body is opened \(seen.opens) times") }
  }

  private func checkKeys() {
    let expected: String?? =
      switch scenario.idempotency {
      case .key(let key): .some(key)
      case .generatedKey: scenario.hasKeyField ? .some("field-\(scenario.seed)") : nil
      default: .some(scenario.hasKeyField ? "field-\(scenario.seed)" : nil)
      }
    let keys = Set(seen.executions.map(\.key))
    expect(keys.count <= 1, "all attempts have one key, not \(keys)")
    if let expected, let key = keys.first { expect(key == expected, "the key is \(expected ?? "none")") }
    if let key = keys.first, key != nil { expect(ledger.idempotencyKey == key, "the ledger tells the key") }
  }
}
