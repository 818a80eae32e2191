// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Trust reports", .timeLimit(.minutes(15)))
struct TrustReportTests {
  /// An inbox that receives reports as they are handled.
  struct Inbox {
    let reports: AsyncStream<TrustReport>
    let send: @Sendable (TrustReport) async -> Void

    init() {
      let (stream, continuation) = AsyncStream.makeStream(of: TrustReport.self)
      reports = stream
      send = { continuation.yield($0) }
    }

    func take(_ count: Int) async -> [TrustReport] {
      var result: [TrustReport] = []
      var iterator = reports.makeAsyncIterator()
      while result.count < count, let report = await iterator.next() { result.append(report) }
      return result
    }
  }

  static let day = Duration.seconds(86_400)

  @Test("Refusals, and what report-only mode accepts, are reported; pinned connections are not")
  func reported() async throws {
    let chain = try TrustChain()
    let inbox = Inbox()
    let evaluator = try ServerTrustEvaluator(
      .test("soft.example", mode: .reportOnly), .test("hard.example"),
      .test("good.example", pins: ["\(chain.root.pin)"]), .test("off.example", mode: .off), onReport: inbox.send)
    for host in ["good.example", "soft.example", "off.example", "hard.example", "none.example"] {
      _ = try evaluator.decision(on: chain.trust(host))
    }
    _ = try evaluator.decisionOnPlaintext(host: HostName("hard.example"), port: 80)
    let reports = await inbox.take(4)
    #expect(reports.map(\.failure.trust.host.text) == ["soft.example", "hard.example", "none.example", "hard.example"])
    #expect(reports.map(\.isEnforced) == [false, true, true, true])
    #expect(reports.map(\.failure.reason) == [.noPinMatches, .noPinMatches, .hostNotPinned, .plaintext])
    #expect(reports.allSatisfy { $0.date == .manual() && $0.suppressed == 0 })
  }

  @Test("Identical failures are reported once in 24 hours, with the number of those in between")
  func limited() async throws {
    let chain = try TrustChain()
    let inbox = Inbox()
    let clock = ManualClock()
    let evaluator = try ServerTrustEvaluator(.test(mode: .reportOnly), clock: clock, onReport: inbox.send)
    for _ in 0..<5 { _ = try evaluator.decision(on: chain.trust()) }
    clock.advance(by: Self.day - .seconds(1))
    _ = try evaluator.decision(on: chain.trust())
    clock.advance(by: .seconds(1))
    _ = try evaluator.decision(on: chain.trust())
    // A report follows if the port, the chain, the role or the policy differs.
    _ = try evaluator.decision(on: chain.trust(port: 8443))
    _ = try evaluator.decision(on: TrustChain().trust())
    _ = try evaluator.decision(on: chain.trust(role: .proxy))
    evaluator.configuration = try .init(pinningPolicies: [.test(pins: [SPKIHash.made(of: 7)], mode: .reportOnly)])
    _ = try evaluator.decision(on: chain.trust())
    let reports = await inbox.take(6)
    #expect(reports.map(\.suppressed) == [0, 5, 0, 0, 0, 0])
    #expect(reports.map(\.failure.trust.port) == [443, 443, 8443, 443, 443, 443])
    #expect(reports.last?.failure.policy?.pins == [try #require(SPKIHash(SPKIHash.made(of: 7)))])
  }

  @Test("The handler is not awaited and is called serially; reports beyond the buffer are counted")
  func slowHandler() async throws {
    let chain = try TrustChain()
    let inbox = Inbox()
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let running = Lock((now: 0, most: 0))
    let evaluator = try ServerTrustEvaluator(.test(mode: .reportOnly)) { report in
      running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      for await _ in gate { break }
      running.withLock { $0.now -= 1 }
      await inbox.send(report)
    }
    // At most one report is handled at a time, so many wait and the others are dropped.
    let sent = TrustReporter.maximumWaiting + 20
    for port in 1...sent { _ = try evaluator.decision(on: chain.trust(port: port)) }
    #expect(evaluator.statistics.policies.values.map(\.wouldHaveBlocked) == [UInt64(sent)])
    // One report may have left the queue already.
    #expect((19...20).contains(evaluator.statistics.reportsDropped))
    open.finish()
    let handled = await inbox.take(TrustReporter.maximumWaiting)
    #expect(handled.map(\.failure.trust.port) == Array(1...TrustReporter.maximumWaiting))
    #expect(running.withLock { $0.most } == 1)
    // The last failure was not reported, so it is reported as soon as it recurs.
    _ = try evaluator.decision(on: chain.trust(port: sent))
    var next = await inbox.take(1)
    if next.first?.failure.trust.port != sent { next = await inbox.take(1) }
    #expect(next.first?.failure.trust.port == sent && next.first?.suppressed == 1)
  }

  @Test("A flush returns once the handler has processed all earlier reports")
  func flush() async throws {
    let chain = try TrustChain()
    let handled = Lock<[Int]>([])
    let evaluator = try ServerTrustEvaluator(.test(mode: .reportOnly)) { report in
      await Task.yield()
      handled.withLock { $0.append(report.failure.trust.port) }
    }
    await evaluator.flushReports()
    for port in 1...10 { _ = try evaluator.decision(on: chain.trust(port: port)) }
    async let other: Void = evaluator.flushReports()
    await evaluator.flushReports()
    #expect(handled.withLock { $0 } == Array(1...10))
    await other
    await evaluator.flushReports()
    #expect(evaluator.statistics.reportsDropped == 0)
    // Without a handler, the flush returns at once.
    let silent = try ServerTrustEvaluator(.test())
    await silent.flushReports()
  }

  @Test("The number of remembered failures is bounded: the oldest is forgotten")
  func bounded() async throws {
    let chain = try TrustChain()
    let inbox = Inbox()
    let clock = ManualClock()
    let evaluator = try ServerTrustEvaluator(.test(mode: .reportOnly), clock: clock, onReport: inbox.send)
    for port in 0...TrustReporter.maximumRemembered {
      clock.advance(by: .milliseconds(1))
      _ = try evaluator.decision(on: chain.trust(port: port))
      _ = await inbox.take(1)
    }
    _ = try evaluator.decision(on: chain.trust(port: 2))
    _ = try evaluator.decision(on: chain.trust(port: 0))
    let next = await inbox.take(1)
    #expect(next.first?.failure.trust.port == 0 && next.first?.suppressed == 0)
  }

  @Test("A report in JSON has the members of RFC 7469 §3")
  func json() throws {
    let chain = try TrustChain()
    let policy = try PinningPolicy.test(
      "example.com", includeSubdomains: true, expiration: .refuse(after: .manual(60)), pins: [SPKIHash.made(of: 1)])
    let trust = try chain.trust(others: [chain.unrelated])
    let report = TrustReport(
      TrustFailure(.noPinMatches, trust: trust, policy: policy), date: .manual(), isEnforced: false, suppressed: 3)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
    #expect(object["date-time"] as? String == "2001-09-09T01:46:40Z")
    #expect(object["hostname"] as? String == TrustChain.domain && object["port"] as? Int == 443)
    #expect(object["effective-expiration-date"] as? String == "2001-09-09T01:47:40Z")
    #expect(object["include-subdomains"] as? Bool == true && object["noted-hostname"] as? String == "example.com")
    let served = [chain.leaf, chain.intermediate, chain.unrelated].map(\.pem)
    #expect(object["served-certificate-chain"] as? [String] == served)
    #expect(object["validated-certificate-chain"] as? [String] == chain.all.map(\.pem))
    #expect(
      object["known-pins"] as? [String] == ["pin-sha256=\"\(SPKIHash.made(of: 1).dropFirst("sha256/".count))\""])
    #expect(object["enforced"] as? Bool == false && object["suppressed"] as? Int == 3)
    #expect(object["reason"] as? String == "pin_mismatch" && object["role"] as? String == "server")
    #expect(object.count == 13)
  }

  @Test("The text of a report says that a server was refused only if it was")
  func description() throws {
    let trust = try TrustChain().trust()
    let reasons: [TrustFailure.Reason] = [.noPinMatches, .policyExpired(.manual()), .hostNotPinned, .plaintext]
    for reason in reasons {
      let failure = TrustFailure(reason, trust: trust, policy: try .test())
      let passed = TrustReport(failure, date: .manual(), isEnforced: false, suppressed: 3).description
      #expect(passed.hasPrefix("lastro.example.com:443 would have been refused") && !passed.contains("was refused"))
      #expect(passed.hasSuffix("judged at 2001-09-09T01:46:40Z; 3 identical ones before were not reported"))
      let refused = TrustReport(failure, date: .manual(), isEnforced: true).description
      #expect(refused == failure.description + "\n  judged at 2001-09-09T01:46:40Z")
      #expect(refused.contains("\(trust.chain[0].pin)"))
    }
  }

  @Test("A report without a policy names the host itself")
  func withoutPolicy() throws {
    let failure = TrustFailure(.hostNotPinned, trust: try TrustChain().trust(role: .proxy))
    let text = TrustReport(failure, date: .manual(), isEnforced: true).json()
    #expect(text.contains(#""noted-hostname":"lastro.example.com""#) && text.contains(#""known-pins":[]"#))
    #expect(!text.contains("effective-expiration-date") && text.contains(#""role":"proxy""#))
  }

  @Test("Statistics are kept by policy, and for hosts without one")
  func statistics() throws {
    let chain = try TrustChain()
    let evaluator = try ServerTrustEvaluator(
      .test("good.example", pins: ["\(chain.root.pin)"]), .test("hard.example"),
      .test("soft.example", mode: .reportOnly), .test("off.example", mode: .off))
    for host in ["good.example", "hard.example", "hard.example", "soft.example", "off.example", "none.example"] {
      _ = try evaluator.decision(on: chain.trust(host))
    }
    _ = try evaluator.decision(on: chain.trust("proxy.example", role: .proxy))
    var expected = ServerTrustEvaluator.Statistics()
    expected.policies[try HostName("good.example")] = .init(pinned: 1)
    expected.policies[try HostName("hard.example")] = .init(blocked: 2)
    expected.policies[try HostName("soft.example")] = .init(wouldHaveBlocked: 1)
    expected.policies[try HostName("off.example")] = .init(notChecked: 1)
    expected.notPinnedBlocked = 1
    expected.notPinnedAccepted = 1
    #expect(evaluator.statistics == expected)
    evaluator.configuration = try .init(pinningPolicies: [.test("hard.example", mode: .reportOnly)])
    #expect(evaluator.statistics.policies.keys.map(\.text) == ["hard.example"])
  }
}

extension ServerTrustEvaluator.Statistics.Counts {
  fileprivate init(pinned: UInt64 = 0, blocked: UInt64 = 0, wouldHaveBlocked: UInt64 = 0, notChecked: UInt64 = 0) {
    self.init()
    self.pinned = pinned
    self.blocked = blocked
    self.wouldHaveBlocked = wouldHaveBlocked
    self.notChecked = notChecked
  }
}
