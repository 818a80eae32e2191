// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Lastro

/// Thousands of calls on a simulated clock. A failure names its seed; `SimulatedCall(Scenario(seed: …))` repeats it.
@Suite("Simulation of random servers and policies", .timeLimit(.minutes(15)))
struct SimulationTests {
  static let chunk: UInt64 = 150

  @Test("The invariants hold whatever servers, policies, hooks and callers do", arguments: 0..<UInt64(40))
  func promises(chunk: UInt64) async throws {
    var calls: [SimulatedCall] = []
    var explained = 0
    for seed in stride(from: chunk * Self.chunk, to: (chunk + 1) * Self.chunk, by: SeedStride.value) {
      let call = try SimulatedCall(Scenario(seed: seed))
      try await call.run()
      let properties = SimulationProperties(call)
      properties.check()
      explained += try properties.checkForetelling()
      calls.append(call)
    }
    #expect(explained > 0)
    // The check runs at the end, because a second completion would come late.
    for call in calls where call.seen.completions != 1 {
      Issue.record("seed \(call.scenario.seed): \(call.seen.completions) completions")
    }
    // Two calls never share a generated key.
    let keys = calls.filter { $0.scenario.idempotency == .generatedKey && !$0.scenario.hasKeyField }
      .compactMap { $0.seen.executions.first?.key }
    #expect(Set(keys).count == keys.count)
  }

  @Test("A seed reproduces responses, waits, tokens and times", arguments: 0..<UInt64(10))
  func repeatable(chunk: UInt64) async throws {
    for seed in chunk * 30..<(chunk + 1) * 30 {
      var accounts: [String] = []
      for _ in 0..<2 {
        let call = try SimulatedCall(Scenario(seed: seed))
        try await call.run()
        let properties = SimulationProperties(call)
        let account = properties.ledger.description.split(separator: "\n").dropFirst().joined(separator: "\n")
        accounts.append("\(account)\n\(call.clock.sleeps)\n\(call.seen.events)")
      }
      #expect(accounts[0] == accounts[1], "seed \(seed)")
    }
  }
}

/// The properties that must hold for every simulated call.
struct SimulationProperties {
  let scenario: Scenario
  let call: SimulatedCall
  let seen: SimulatedCall.State
  let clock: SimulatedClock
  let ledger: AttemptLedger
  let error: HTTPFetchError<any Error>?

  var attempts: [Attempt] { ledger.attempts }

  init(_ call: SimulatedCall) {
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

  func executions(_ attempt: Int) -> [SimulatedCall.Execution] { seen.executions.filter { $0.attempt == attempt } }

  func check() {
    expect(seen.outcome != nil && seen.completions == 1, "the call completes once")
    checkAttempts()
    checkWaits()
    checkDeadline()
    checkResending()
    checkKeys()
    checkQuota()
    checkLedger()
    checkEvents()
    expect(!seen.isCancelled || error?.isCancelled == true, "a cancelled call throws the cancelled error")
  }

  private func checkAttempts() {
    expect(attempts.count <= max(1, scenario.allowedAttempts), "at most \(scenario.allowedAttempts) attempts")
    for attempt in attempts {
      let transfers = executions(attempt.number).count
      expect(
        transfers == attempt.redirects.count + (attempt.facts == nil ? 0 : 1),
        "attempt \(attempt.number) made \(transfers) transfers")
      let wasSent = executions(attempt.number).contains(where: \.wasSent)
      expect(attempt.requestSent == wasSent, "attempt \(attempt.number): requestSent must be \(wasSent)")
    }
    expect(
      seen.executions.allSatisfy { (1...max(1, attempts.count)).contains($0.attempt) },
      "every transfer belongs to an attempt")
  }

  /// Checks every wait, whether it was completed or interrupted.
  private func checkWaits() {
    let delays = attempts.map(\.delay).filter { $0 > .zero }
    let wasBrokenOff = clock.sleeps.count == delays.count + 1 && seen.isCancelled
    expect(
      clock.sleeps == delays || wasBrokenOff && clock.sleeps.dropLast() == delays[...], "the delays are the sleeps")
    for (before, after) in zip(attempts, attempts.dropFirst()) {
      guard let last = executions(before.number).last, let until = last.until, before.status?.code == last.status else {
        expect(after.delaySource != .retryAfter, "attempt \(after.number) waits without Retry-After")
        continue
      }
      let start = SimulatedClock.epoch + after.start
      expect(start >= until, "attempt \(after.number) comes before Retry-After")
      let demand = until - SimulatedClock.epoch - last.end
      // A date without the server's clock has a precision of one second only.
      expect(demand <= scenario.maximumRetryAfter, "attempt \(after.number) waits for a Retry-After beyond the maximum")
      guard after.delaySource == .retryAfter else { continue }
      let longest = (demand + .seconds(1)) * 1.1 + .milliseconds(1)
      expect(
        after.delay <= min(longest, demand + .seconds(2)), "attempt \(after.number): the jitter is at most a second")
    }
  }

  private func checkDeadline() {
    guard let total = scenario.total else { return }
    for execution in seen.executions {
      expect(execution.start < total, "a transfer starts after the deadline")
      expect(
        execution.deadline.map { $0 > .zero && execution.start + $0 <= total } ?? false,
        "a transfer's limit is the remaining time")
    }
    for attempt in attempts.dropFirst() {
      expect(
        attempt.start - attempt.delay < total && attempt.start < total, "no wait starts that ends after the deadline")
    }
    // The clock also advances in hooks that cannot be interrupted, namely those that declare that they do not wait.
    if scenario.guests.allSatisfy({ if case .hooks(false) = $0 { false } else { true } }) {
      expect(clock.now <= total + .seconds(1), "the call ends at \(clock.now.brief)")
    }
  }

  /// Checks that requests that must not be sent twice are sent once.
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
    expect(keys.count <= 1, "all attempts have the same key, not \(keys)")
    if let expected, let key = keys.first { expect(key == expected, "the key must be \(expected ?? "none")") }
    if let key = keys.first, key != nil { expect(ledger.idempotencyKey == key, "the ledger has the key") }
  }
}

extension SimulationProperties {
  /// Checks the quota by repeating its arithmetic.
  func checkQuota() {
    guard let quota = call.quota, let rules = scenario.quota, let home = call.origin else { return }
    var tokens = [home: rules.capacity - rules.spent]
    var payment: (Origin, Int)?
    // A success, or an answer without distress, returns the tokens that its attempt paid. For the first attempt it
    // returns one token.
    func settle(_ attempt: Attempt) {
      let last = executions(attempt.number).last?.origin ?? nil
      guard let (origin, amount) = payment ?? (attempt.number == 1 ? last.map { ($0, 1) } : nil) else { return }
      tokens[origin] = min(rules.capacity, tokens[origin, default: rules.capacity] + amount)
    }
    /// Applies an attempt to the quota. A payment without a sent request is returned; an answer without distress counts
    /// as a success.
    func account(_ attempt: Attempt) {
      if executions(attempt.number).isEmpty, let (origin, amount) = payment {
        tokens[origin, default: rules.capacity] += amount
        payment = nil
      }
      let isAnswered =
        attempt.outcome == .status || attempt.error?.code == .noData || attempt.error?.code == .undecodable
      if attempt.outcome == .succeeded || isAnswered && price(attempt, rules) == nil { settle(attempt) }
    }
    for (before, after) in zip(attempts, attempts.dropFirst()) {
      account(before)
      payment = nil
      guard let price = price(before, rules), let origin = executions(before.number).last?.origin ?? nil else {
        expect(after.quotaLeft == nil, "attempt \(after.number) costs no tokens")
        continue
      }
      payment = (origin, price)
      tokens[origin, default: rules.capacity] -= price
      expect(after.quotaLeft == tokens[origin], "attempt \(after.number) leaves \(tokens[origin] ?? 0) tokens")
      expect((0...rules.capacity).contains(tokens[origin] ?? 0), "the tokens stay between zero and the capacity")
    }
    if let last = attempts.last { account(last) }
    for (origin, left) in tokens {
      expect(quota.tokens(of: origin) == left, "\(origin) has \(left) tokens, not \(quota.tokens(of: origin))")
    }
    for origin in tokens.keys {
      for _ in 0..<rules.capacity { quota.refund(1, for: origin) }
      expect(quota.tokens(of: origin) == rules.capacity, "successes refill the quota")
    }
    expect(quota.isFull, "a full quota keeps no accounts")
  }

  /// Returns the price of a retry; `nil` if the failure is not a sign of a server in distress.
  private func price(_ attempt: Attempt, _ rules: Scenario.Quota) -> Int? {
    // A failure in application code on this side costs nothing.
    guard attempt.facts != nil else { return nil }
    guard let error = attempt.error else {
      guard let status = attempt.status?.code else { return nil }
      let asked = executions(attempt.number).last?.fields[.retryAfter] != nil
      switch status {
      case 429: return rules.throttledCost
      case 503 where asked: return rules.throttledCost
      case 408, 500...599: return rules.cost
      default: return nil
      }
    }
    switch error.stage {
    case .request, .redirect, .cancelled: return nil
    default: return error.code == .noData ? nil : rules.cost
    }
  }

  /// Checks the ledger's numbers, its times, and both renderings.
  func checkLedger() {
    expect(attempts.map(\.number) == Array(attempts.indices.map { $0 + 1 }), "attempts are numbered from 1")
    expect(
      attempts.first.map { $0.reason == "first" && $0.delaySource == .none } ?? true,
      "the first attempt has the reason first and no delay")
    for (before, after) in zip(attempts, attempts.dropFirst()) {
      expect(
        before.start + before.duration + after.delay <= after.start, "attempt \(after.number) starts after the wait")
      expect(
        (after.delaySource == .none) == (after.delay == .zero), "attempt \(after.number): every delay has a source")
      let reason = before.error.map { "\($0.stage.rawValue)/\($0.code)" } ?? "status \(before.status?.code ?? 0)"
      expect(after.reason == reason, "attempt \(after.number) must have the reason \(reason)")
    }
    for attempt in attempts {
      expect(
        attempt.preparation <= attempt.duration && attempt.preparation >= .zero,
        "preparation is a part of the attempt's duration")
    }
    if let last = attempts.last {
      expect(last.start + last.duration <= ledger.elapsed, "the call's duration includes its attempts")
    }
    expect(ledger.elapsed <= clock.now, "the ledger's duration does not exceed the elapsed time")
    if error != nil {
      expect(ledger.elapsed == clock.now || seen.isCancelled, "a failed call's duration lasts until the failure")
    }
    expect(
      ledger.description.split(separator: "\n").count <= attempts.count + 4,
      "the description has a line for each attempt")
    checkJSON()
  }

  private func checkJSON() {
    guard
      let object = try? JSONSerialization.jsonObject(with: Data(ledger.json().utf8)) as? [String: Any],
      let listed = object["attempts"] as? [[String: Any]], listed.count == attempts.count
    else { return expect(false, "JSON: \(ledger.json())") }
    expect(!ledger.json().contains("\n"), "the JSON is on one line")
    for (attempt, entry) in zip(attempts, listed) {
      func isEqual(_ key: String, _ duration: Duration) -> Bool {
        (entry[key] as? Double).map { abs($0 - duration.inRoundedSeconds) <= 1e-9 * max(1, abs($0)) } ?? false
      }
      expect(
        entry["number"] as? Int == attempt.number && entry["sent"] as? Bool == attempt.requestSent
          && entry["status"] as? Int == attempt.status?.code && entry["quota_left"] as? Int == attempt.quotaLeft
          && entry["outcome"] as? String == attempt.outcome.rawValue
          && entry["delay_source"] as? String == attempt.delaySource.rawValue
          && isEqual("delay_s", attempt.delay) && isEqual("start_s", attempt.start)
          && isEqual("duration_s", attempt.duration), "the JSON has different numbers: \(entry)")
    }
  }

  /// Checks the order that ``FetchObserver`` documents, and the attempt number of every event.
  func checkEvents() {
    var expected = ["call"]
    for attempt in attempts {
      let number = attempt.number
      if number > 1 { expected.append("retry \(attempt.delay.brief) \(attempt.delaySource)") }
      expected.append("attempt \(number)/\(number)")
      for _ in executions(number) { expected += ["transfer \(number)", "transferred \(number)"] }
      expected.append("attempted \(number)/\(number)")
    }
    var events = seen.events
    let wasBrokenOff = events.count > 1 && events[events.count - 2].hasPrefix("retry")
    if wasBrokenOff {
      expect(seen.isCancelled, "only the caller interrupts a wait")
      events.remove(at: events.count - 2)
    }
    expect(events == expected + ["called"], "events come in order")
  }
}
