// SPDX-License-Identifier: Apache-2.0

import Foundation
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

  @Test("When the delay passes a hedge depends on the tries sent, the budget and a response")
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

  @Test("When a try ends the next step depends on whether one or two are running")
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
      // Reporting the same end twice changes nothing.
      #expect(double.ended(0, verdict, asksForPatience: false) { true } == .wait)
    }
  }

  @Test("If all tries fail the first failure is returned, and a server that sends Retry-After gets no hedge")
  func failures() {
    var plan = Self.plan(sent: 2)
    #expect(plan.ended(1, .unacceptable, asksForPatience: false) { true } == .wait)
    #expect(plan.ended(0, .unacceptable, asksForPatience: false) { true } == .answer(1, cancelling: []))
    var asked = Self.plan(sent: 1)
    #expect(asked.ended(0, .unacceptable, asksForPatience: true) { true } == .answer(0, cancelling: []))
    var poor = Self.plan(sent: 1)
    #expect(poor.ended(0, .unacceptable, asksForPatience: false) { false } == .answer(0, cancelling: []))
  }

  @Test("After a refused hedge the first try continues alone, or its failure is returned")
  func refused() {
    var plan = Self.plan(sent: 2, additional: 2)
    #expect(plan.refused(1) == .wait)
    #expect(plan.refused(1) == .wait)
    #expect(!plan.awaitsDelay)
    #expect(plan.ended(0, .acceptable, asksForPatience: false) { true } == .answer(0, cancelling: []))
    #expect(plan.refused(0) == .wait)
    var failed = Self.plan(sent: 2)
    #expect(failed.ended(0, .unacceptable, asksForPatience: false) { true } == .wait)
    #expect(failed.refused(1) == .answer(0, cancelling: []))
  }

  @Test("The percentile is that of first tries in the last 60 s, and needs 50 of them")
  func percentile() throws {
    var machine = HedgingMachine(.standard)
    for index in 0..<49 { machine.firstTryEnded(after: .milliseconds(index), now: .zero) }
    #expect(machine.recordFirstTry(now: .zero, left: nil) == nil)
    machine.firstTryEnded(after: .milliseconds(49), now: .zero)
    let begun = machine.recordFirstTry(now: .zero, left: nil)
    let delay = try #require(begun)
    #expect((.milliseconds(47)...(.milliseconds(58))).contains(delay))
    #expect(machine.recordFirstTry(now: .zero, left: .milliseconds(100)) == .milliseconds(25))
    #expect(machine.recordFirstTry(now: .seconds(59), left: nil) == delay)
    #expect(machine.recordFirstTry(now: .seconds(200), left: nil) == nil)
    var fixed = HedgingMachine(HedgingPolicy(delay: .fixed(.milliseconds(1))))
    #expect(fixed.recordFirstTry(now: .zero, left: nil) == .milliseconds(10))
  }

  @Test("The budget is a burst of ten, and one more for each twenty first tries")
  func budget() {
    var machine = HedgingMachine(.standard)
    #expect((0..<20).filter { _ in machine.pay() }.count == 10)
    for _ in 0..<20 { _ = machine.recordFirstTry(now: .zero, left: nil) }
    // In floating point, twenty twentieths are slightly less than one.
    _ = machine.recordFirstTry(now: .zero, left: nil)
    #expect((0..<20).filter { _ in machine.pay() }.count == 1)
  }

  @Test("Only safe methods with a small replayable body and without a stream are hedged")
  func eligible() {
    func request(_ method: HTTPRequest.Method, _ body: RequestBody = .empty) -> TransferRequest {
      TransferRequest(
        head: HTTPRequest(method: method, scheme: "https", authority: "api.example.org", path: "/"), body: body,
        allowsResend: true)
    }
    for method in [HTTPRequest.Method.get, .head, .options] { #expect(HedgingPolicy.mayHedge(request(method))) }
    for method in [HTTPRequest.Method.post, .put, .delete, .patch] { #expect(!HedgingPolicy.mayHedge(request(method))) }
    var streamed = request(.get)
    streamed.delivery = .streamed(maximumBytes: nil)
    #expect(!HedgingPolicy.mayHedge(streamed))
    var once = request(.get)
    once.allowsResend = false
    #expect(!HedgingPolicy.mayHedge(once))
    var keyed = request(.get)
    keyed.head.headerFields[.idempotencyKey] = "\"8e03978e\""
    #expect(!HedgingPolicy.mayHedge(keyed))
    var watched = request(.get)
    watched.onInterimResponse = { _ in }
    #expect(!HedgingPolicy.mayHedge(watched))
    #expect(HedgingPolicy.mayHedge(request(.get, RequestBody(source: .bytes(Data(count: 64 * 1024))))))
    #expect(!HedgingPolicy.mayHedge(request(.get, RequestBody(source: .bytes(Data(count: 64 * 1024 + 1))))))
  }
}
