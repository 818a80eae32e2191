// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A simple model of an attempt that ignores cost: it keeps the state of every try by its number.
private struct HedgeModel {
  enum State { case running, failed, refused }

  let most: Int
  var tries: [State] = [.running]
  var failures: [Int] = []
  var isPatient = false
  var answer: Int?

  var running: [Int] { tries.indices.filter { tries[$0] == .running } }

  mutating func next(_ canPay: Bool) -> HedgePlan.Step? {
    guard answer == nil, !isPatient, tries.count < most else { return nil }
    guard canPay else {
      isPatient = true
      return nil
    }
    tries.append(.running)
    return .send(tries.count - 1)
  }

  mutating func ended(_ number: Int, _ verdict: HedgeVerdict, asks: Bool, _ canPay: Bool) -> HedgePlan.Step {
    guard answer == nil, tries[number] == .running else { return .wait }
    tries[number] = .failed
    isPatient = isPatient || asks
    if verdict != .unacceptable { return settle(number) }
    failures.append(number)
    return next(canPay) ?? (running.isEmpty ? settle(failures[0]) : .wait)
  }

  mutating func refused(_ number: Int) -> HedgePlan.Step {
    guard answer == nil, tries[number] == .running else { return .wait }
    tries[number] = .refused
    isPatient = true
    return running.isEmpty ? settle(failures.first ?? number) : .wait
  }

  private mutating func settle(_ number: Int) -> HedgePlan.Step {
    answer = number
    return .answer(number, cancelling: running)
  }
}

@Suite("Hedging against a model", .ownThread)
struct HedgeModelTests {
  @Test("In 10,000 random histories a plan takes the steps of its model, and each ends with one response")
  func plans() throws {
    let seen = try Histories.play { seed, random in
      let additional = 1 + seed % 4
      var (plan, model) = (HedgePlan(additional: additional), HedgeModel(most: additional + 1))
      var steps: [String] = []
      var answers = 0
      while true {
        let canPay = random.roll(4) > 0
        let number = random.roll(model.tries.count)
        let (step, expected): (HedgePlan.Step, HedgePlan.Step)
        switch random.roll(6) {
        case 0, 1: (step, expected) = (plan.delayPassed { canPay }, model.next(canPay) ?? .wait)
        case 2 where number > 0: (step, expected) = (plan.refused(number), model.refused(number))
        default:
          let verdict =
            [.acceptable, .unacceptable, .unacceptable, .unacceptable, .ends][random.roll(5)] as HedgeVerdict
          let asks = random.roll(8) == 0
          step = plan.ended(number, verdict, asksForPatience: asks) { canPay }
          expected = model.ended(number, verdict, asks: asks, canPay)
        }
        guard step == expected else { throw Histories.Difference(seed: seed, what: "\(step), not \(expected)") }
        switch step {
        case .wait: break
        case .send: steps.append("sent")
        case .answer(let number, let cancelled):
          answers += 1
          steps.append("\(number == 0 ? "first" : "hedge"), \(min(2, cancelled.count)) cancelled")
        }
        // Events after the answer change nothing.
        if model.answer != nil, random.roll(4) == 0 { break }
      }
      guard answers == 1 else { throw Histories.Difference(seed: seed, what: "\(answers) answers") }
      return steps
    }
    for step in [
      "sent", "first, 0 cancelled", "first, 1 cancelled", "first, 2 cancelled", "hedge, 0 cancelled",
      "hedge, 1 cancelled",
    ] {
      #expect(seen[step, default: 0] > 20, "\(step): \(seen)")
    }
  }

  @Test("In 10,000 random histories the hedging budget equals a count of quarters")
  func budgets() throws {
    let seen = try Histories.play { seed, random in
      let burst = 1 + seed % 5
      var machine = HedgingMachine(HedgingPolicy(budgetRatio: 0.25, budgetBurst: burst))
      var quarters = 4 * burst
      var steps: [String] = []
      for _ in 0..<60 {
        if random.roll(5) > 0 {
          _ = machine.recordFirstTry(now: .zero, left: nil)
          quarters = min(4 * burst, quarters + 1)
        } else {
          let isPaid = machine.pay()
          guard isPaid == (quarters >= 4) else { throw Histories.Difference(seed: seed, what: "\(quarters)") }
          if isPaid { quarters -= 4 }
          steps.append(isPaid ? "paid" : "not paid")
        }
      }
      return steps
    }
    for step in ["paid", "not paid"] { #expect(seen[step, default: 0] > 1_000, "\(step)") }
  }
}
