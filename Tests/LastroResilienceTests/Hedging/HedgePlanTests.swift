// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import Testing

@testable import LastroResilience

@Suite("Hedge plan")
struct HedgePlanTests {
  private static func plan(sent: Int, additional: Int = 1) -> HedgePlan {
    var plan = HedgePlan(additional: additional)
    for _ in 1..<max(sent, 1) { _ = plan.delayPassed { true } }
    return plan
  }

  @Test("the delay passes: with one sent, with all sent, without budget, after the answer")
  func delay() {
    var first = Self.plan(sent: 1)
    #expect(first.delayPassed { true } == .send(1))
    #expect(!first.awaitsDelay)
    #expect(first.delayPassed { true } == .wait)
    var poor = Self.plan(sent: 1)
    #expect(poor.delayPassed { false } == .wait)
    #expect(!poor.awaitsDelay)
    #expect(poor.delayPassed { true } == .wait)
    var over = Self.plan(sent: 1)
    #expect(over.ended(0, .acceptable, asksForPatience: false) { true } == .answer(0, cancelling: []))
    #expect(over.delayPassed { true } == .wait)
  }

  @Test("a try ends, with one and with two under way")
  func ends() {
    let one: [HedgeVerdict: HedgePlan.Step] = [
      .acceptable: .answer(0, cancelling: []), .unacceptable: .send(1), .ends: .answer(0, cancelling: []),
    ]
    let two: [HedgeVerdict: HedgePlan.Step] = [
      .acceptable: .answer(0, cancelling: [1]), .unacceptable: .wait, .ends: .answer(0, cancelling: [1]),
    ]
    for verdict in HedgeVerdict.allCases {
      var single = Self.plan(sent: 1)
      #expect(single.ended(0, verdict, asksForPatience: false) { true } == one[verdict], "\(verdict)")
      var double = Self.plan(sent: 2)
      #expect(double.ended(0, verdict, asksForPatience: false) { true } == two[verdict], "\(verdict)")
      // Told twice, it changes nothing.
      #expect(double.ended(0, verdict, asksForPatience: false) { true } == .wait)
    }
  }

  @Test("all fail: the first failure is the answer; a server that asks for patience gets no hedge")
  func failures() {
    var plan = Self.plan(sent: 2)
    #expect(plan.ended(1, .unacceptable, asksForPatience: false) { true } == .wait)
    #expect(plan.ended(0, .unacceptable, asksForPatience: false) { true } == .answer(1, cancelling: []))
    var asked = Self.plan(sent: 1)
    #expect(asked.ended(0, .unacceptable, asksForPatience: true) { true } == .answer(0, cancelling: []))
    var poor = Self.plan(sent: 1)
    #expect(poor.ended(0, .unacceptable, asksForPatience: false) { false } == .answer(0, cancelling: []))
  }

  @Test("random histories: each ends with one answer, and no try runs after it")
  func histories() {
    for seed in 0..<10_000 {
      let random = RandomSource.seeded(UInt64(seed))
      var plan = HedgePlan(additional: 1 + seed % 4)
      var running: Set<Int> = [0]
      var answers = 0
      for _ in 0..<30 where !running.isEmpty {
        let canPay = random.next() % 3 > 0
        let step: HedgePlan.Step
        if random.next() % 2 == 0 {
          step = plan.delayPassed { canPay }
        } else {
          let ended = running.sorted()[Int(random.next() % UInt64(running.count))]
          running.remove(ended)
          let verdict: HedgeVerdict = random.next() % 4 == 0 ? .acceptable : .unacceptable
          step = plan.ended(ended, verdict, asksForPatience: random.next() % 8 == 0) { canPay }
        }
        switch step {
        case .wait: break
        case .send(let number): running.insert(number)
        case .answer(_, let cancelled):
          if Set(cancelled) != running { Issue.record("seed \(seed): \(cancelled) are cancelled, \(running) run") }
          running = []
          answers += 1
        }
      }
      if answers != 1 && running.isEmpty { Issue.record("seed \(seed): \(answers) answers") }
    }
  }

  @Test("the percentile is of first tries, of the last 60 s, and needs 50 of them")
  func percentile() throws {
    var machine = HedgingMachine(.standard)
    for index in 0..<49 { machine.firstTryEnded(after: .milliseconds(index), now: .zero) }
    #expect(machine.begin(now: .zero, left: nil) == nil)
    machine.firstTryEnded(after: .milliseconds(49), now: .zero)
    let begun = machine.begin(now: .zero, left: nil)
    let delay = try #require(begun)
    #expect((.milliseconds(47)...(.milliseconds(58))).contains(delay))
    #expect(machine.begin(now: .zero, left: .milliseconds(100)) == .milliseconds(25))
    #expect(machine.begin(now: .seconds(59), left: nil) == delay)
    #expect(machine.begin(now: .seconds(200), left: nil) == nil)
    var fixed = HedgingMachine(try HedgingPolicy(delay: .fixed(.milliseconds(1))))
    #expect(fixed.begin(now: .zero, left: nil) == .milliseconds(10))
  }

  @Test("the budget: a burst of ten, and one more for each twenty first tries")
  func budget() {
    var machine = HedgingMachine(.standard)
    #expect((0..<20).filter { _ in machine.pay() }.count == 10)
    for _ in 0..<20 { _ = machine.begin(now: .zero, left: nil) }
    // Twenty twentieths are a hair below one.
    _ = machine.begin(now: .zero, left: nil)
    #expect((0..<20).filter { _ in machine.pay() }.count == 1)
  }

  @Test("safe methods alone, with a small body that can be sent again, and no stream")
  func eligible() {
    func request(_ method: HTTPRequest.Method, _ body: RequestBody = .empty) -> TransferRequest {
      TransferRequest(
        head: HTTPRequest(method: method, scheme: "https", authority: "api.example.org", path: "/"), body: body)
    }
    for method in [HTTPRequest.Method.get, .head, .options] { #expect(HedgingPolicy.mayHedge(request(method))) }
    for method in [HTTPRequest.Method.post, .put, .delete, .patch] { #expect(!HedgingPolicy.mayHedge(request(method))) }
    var streamed = request(.get)
    streamed.delivery = .streamed(maximumBytes: nil)
    #expect(!HedgingPolicy.mayHedge(streamed))
  }
}
