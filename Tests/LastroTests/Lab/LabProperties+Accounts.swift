// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

@testable import Lastro

extension LabProperties {
  /// The quota's arithmetic, once more.
  func checkQuota() {
    guard let quota = call.quota, let rules = scenario.quota, let home = call.origin else { return }
    var tokens = [home: rules.capacity - rules.spent]
    var payment: (Origin, Int)?
    // A success gives back what its attempt paid, or a token where it is the first; so does an answer without distress.
    func settle(_ attempt: Attempt) {
      let last = executions(attempt.number).last?.origin ?? nil
      guard let (origin, amount) = payment ?? (attempt.number == 1 ? last.map { ($0, 1) } : nil) else { return }
      tokens[origin] = min(rules.capacity, tokens[origin, default: rules.capacity] + amount)
    }
    /// What was paid for and not handed over costs nothing; an answer without distress is a success.
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
        expect(after.quotaLeft == nil, "attempt \(after.number) costs nothing")
        continue
      }
      payment = (origin, price)
      tokens[origin, default: rules.capacity] -= price
      expect(after.quotaLeft == tokens[origin], "attempt \(after.number) leaves \(tokens[origin] ?? 0) tokens")
      expect((0...rules.capacity).contains(tokens[origin] ?? 0), "tokens stay between nothing and the capacity")
    }
    if let last = attempts.last { account(last) }
    for (origin, left) in tokens {
      expect(quota.tokens(of: origin) == left, "\(origin) has \(left) tokens, not \(quota.tokens(of: origin))")
    }
    for origin in tokens.keys {
      for _ in 0..<rules.capacity { quota.refund(1, for: origin) }
      expect(quota.tokens(of: origin) == rules.capacity, "successes fill it again")
    }
    expect(quota.isFull, "a full one is empty of accounts")
  }

  /// `nil` where no server in distress is to blame.
  private func price(_ attempt: Attempt, _ rules: Scenario.Quota) -> Int? {
    // What other people's code on this side broke costs nothing.
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

  /// Numbers, times, and both renderings.
  func checkLedger() {
    expect(attempts.map(\.number) == Array(attempts.indices.map { $0 + 1 }), "numbered from 1")
    expect(attempts.first.map { $0.reason == "first" && $0.delaySource == .none } ?? true, "the first is the first")
    for (before, after) in zip(attempts, attempts.dropFirst()) {
      expect(before.start + before.duration + after.delay <= after.start, "\(after.number) begins after the wait")
      expect((after.delaySource == .none) == (after.delay == .zero), "\(after.number): a source for every delay")
      let reason = before.error.map { "\($0.stage.rawValue)/\($0.code)" } ?? "status \(before.status?.code ?? 0)"
      expect(after.reason == reason, "\(after.number) is because of \(reason)")
    }
    for attempt in attempts {
      expect(attempt.preparation <= attempt.duration && attempt.preparation >= .zero, "preparation is a part")
    }
    if let last = attempts.last { expect(last.start + last.duration <= ledger.elapsed, "the call has its attempts") }
    expect(ledger.elapsed <= clock.now, "it does not last longer than it does")
    if error != nil { expect(ledger.elapsed == clock.now || seen.isCancelled, "it lasts until it fails") }
    expect(ledger.description.split(separator: "\n").count <= attempts.count + 4, "a line for each attempt")
    checkJSON()
  }

  private func checkJSON() {
    guard
      let object = try? JSONSerialization.jsonObject(with: Data(ledger.json().utf8)) as? [String: Any],
      let listed = object["attempts"] as? [[String: Any]], listed.count == attempts.count
    else { return expect(false, "JSON: \(ledger.json())") }
    expect(!ledger.json().contains("\n"), "JSON stands on a line")
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
          && isEqual("duration_s", attempt.duration), "JSON has other numbers: \(entry)")
    }
  }

  /// The order that ``FetchObserver`` draws, every event with the number of its attempt.
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
      expect(seen.isCancelled, "only the caller breaks a wait off")
      events.remove(at: events.count - 2)
    }
    expect(events == expected + ["called"], "events come in order")
  }
}
