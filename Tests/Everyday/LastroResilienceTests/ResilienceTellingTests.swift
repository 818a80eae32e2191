// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import Testing

@testable import LastroResilience

@Suite("Resilience of a stack and its reports", .timeLimit(.minutes(15)))
struct ResilienceTellingTests {
  private static func resource(_ use: StackPartUse<Resilience>? = nil) throws -> RawHTTPResource {
    var options = RequestOptions()
    if let use { options.resilience = use }
    return RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"), options: options)
  }

  private static func stack(
    _ transport: any Transport, _ resilience: Resilience?, _ clock: ManualClock
  ) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = resilience
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  /// Returns the stage and code of the failure, or the status of the response, and the ledger of the call.
  private static func end(
    _ stack: TransportNetworkStack, _ use: StackPartUse<Resilience>? = nil
  ) async throws -> (String, AttemptLedger) {
    let resource = try resource(use)
    do throws(HTTPFetchError<any Error>) {
      let response = try await stack.fetch(resource).response
      return ("\(response.status.code)", response.ledger)
    } catch {
      return (error.statusCode.map { "\($0)" } ?? "\(error.stage.rawValue)/\(error.code)", error.ledger)
    }
  }

  private static func notes(_ ledger: AttemptLedger) -> [TransferFacts.Note] {
    ledger.attempts.last?.facts?.notes ?? []
  }

  /// Returns the notes of the last attempt, as JSON contains them.
  private static func written(_ ledger: AttemptLedger) throws -> [[String: Any]] {
    let object = try JSONSerialization.jsonObject(with: Data(ledger.json().utf8)) as? [String: Any]
    let attempts = try #require(object?["attempts"] as? [[String: Any]])
    return try #require(attempts.last?["notes"] as? [[String: Any]])
  }

  private static func breaker(_ clock: ManualClock, minimumCalls: Int = 2) throws -> CircuitBreaker {
    CircuitBreaker(
      policy: CircuitBreakerPolicy(minimumCalls: minimumCalls, probes: 1), time: clock.timeSource,
      random: .seeded(1))
  }

  /// Opens the circuit of the server.
  private static func open(_ breaker: CircuitBreaker) throws {
    let key = ResilienceKey(try Origin("https://api.example.org"))
    while breaker.state(of: key) == .closed { try breaker.permit(for: key).end(.failure) }
  }

  @Test("With the standard setting a stack uses all parts, and its ledger shows a circuit that opens and closes")
  func circuit() async throws {
    let clock = ManualClock()
    let scripted = ScriptedTransport(
      [.fail(.init(stage: .connect, code: .connectFailed, message: "down"))]
        + [.fail(.init(stage: .connect, code: .connectFailed, message: "down")), .respond(status: 200)])
    let stack = Self.stack(scripted, Resilience(breaker: try Self.breaker(clock)), clock)
    var (end, ledger) = try await Self.end(stack)
    #expect(end == "connect/connect_failed" && Self.notes(ledger).isEmpty)
    (end, ledger) = try await Self.end(stack)
    #expect(ledger.description.contains("nothing sent, circuit from closed to open"), "\(ledger)")
    #expect(
      try Self.written(ledger) as NSArray == [
        ["name": "circuit", "detail": "open", "text": "circuit from closed to open"]
      ])
    (end, ledger) = try await Self.end(stack)
    #expect(end == "policy/circuit_open" && Self.notes(ledger).isEmpty && scripted.requests.count == 2)
    #expect(ledger.description.contains("failed, policy/circuit_open: the circuit of https://api.example.org is open"))
    clock.advance(by: .seconds(6))
    (end, ledger) = try await Self.end(stack)
    #expect(end == "200" && Self.notes(ledger).map(\.detail) == ["half-open", "closed"])
    #expect(StackConfiguration().resilience == nil)
    #expect(stack.configuration.resilience?.breaker != nil)
  }

  @Test("A wait for a rate limit is in the ledger, even if the attempt is then refused")
  func pace() async throws {
    let clock = ManualClock(autoAdvance: true)
    let policy = PacingPolicy(pace: try .init(perSecond: 10, burst: 1))
    let pacer = Pacer(policy, time: clock.timeSource, random: .seeded(1))
    let breaker = try Self.breaker(clock)
    let scripted = ScriptedTransport(repeatingLast: .respond(status: 200))
    let stack = Self.stack(scripted, Resilience(pacer: pacer, breaker: breaker), clock)
    var (_, ledger) = try await Self.end(stack)
    #expect(Self.notes(ledger).isEmpty)
    (_, ledger) = try await Self.end(stack)
    #expect(ledger.description.contains("sent, waited 100 ms for its pace"), "\(ledger)")
    #expect(Self.notes(ledger).map(\.wait) == [.milliseconds(100)])
    #expect(try Self.written(ledger).first?["wait_s"] as? Double == 0.1)
    try Self.open(breaker)
    let end: String
    (end, ledger) = try await Self.end(stack)
    #expect(end == "policy/circuit_open" && Self.notes(ledger).map(\.name) == ["paced"])
    #expect(ledger.description.contains("nothing sent, waited 100 ms for its pace"), "\(ledger)")
  }

  @Test("A request that is sent at once has waited for nothing, also by the system's clock")
  func atOnce() async throws {
    let slot = try await Pacer(PacingPolicy()).slot(for: ResilienceKey(try Origin("https://api.example.org")))
    #expect(slot.waited == .zero)
  }

  @Test("A wait for a permit is in the ledger, and the limiter's state only in its JSON")
  func room() async throws {
    let clock = ManualClock()
    let limiter = try ConcurrencyLimiter(.fixed(1), time: clock.timeSource)
    let begun = OneAnswer<Void>()
    let goOn = OneAnswer<Void>()
    let scripted = ScriptedTransport { (_, index) throws(TransportError) in
      if index == 0 {
        begun.give(())
        await goOn.wait()
      }
      return TransferResponse(head: .init(status: 200), body: ResponseBody(Data()))
    }
    let stack = Self.stack(scripted, Resilience(limiter: limiter), clock)
    let first = Task { try await Self.end(stack).1 }
    await begun.wait()
    let second = Task { try await Self.end(stack).1 }
    try await clock.waitForLimits(count: 1)
    clock.advance(by: .milliseconds(30))
    goOn.give(())
    let ledgers = try await (first.value, second.value)
    #expect(Self.notes(ledgers.0) == [.init("limiter", bound: .init(inUse: 1, limit: 1))])
    #expect(!ledgers.0.description.contains("limiter"))
    #expect(ledgers.1.description.contains("sent, waited 30 ms for room"), "\(ledgers.1)")
    let written = try Self.written(ledgers.1)
    #expect(written.map { $0["name"] as? String } == ["queued", "limiter"])
    #expect(written.last?["limit"] as? Int == 1 && written.last?["in_use"] as? Int == 0)
  }

  @Test("Waits before a redirect are listed in the attempt's line")
  func redirect() async throws {
    let clock = ManualClock(autoAdvance: true)
    let policy = PacingPolicy(pace: try .init(perSecond: 10, burst: 1))
    for status in [200, 404] {
      let pacer = Pacer(policy, time: clock.timeSource, random: .seeded(1))
      let scripted = ScriptedTransport([
        .respond(status: 302, headers: [.location: "/b"]), .respond(status: 302, headers: [.location: "/c"]),
        .respond(status: .init(code: status)),
      ])
      let (_, ledger) = try await Self.end(Self.stack(scripted, Resilience(pacer: pacer), clock))
      #expect(Self.notes(ledger).map(\.name) == ["paced", "paced"])
    }
  }

  @Test("A request can bypass the parts, use one of them, or use others")
  func use() async throws {
    let clock = ManualClock()
    let breaker = try Self.breaker(clock)
    let limiter = try ConcurrencyLimiter(.fixed(1), time: clock.timeSource)
    let own = try ConcurrencyLimiter(.fixed(7), time: clock.timeSource)
    try Self.open(breaker)
    let stack = Self.stack(
      ScriptedTransport(repeatingLast: .respond(status: 200)), Resilience(limiter: limiter, breaker: breaker), clock)
    #expect(try await Self.end(stack).0 == "policy/circuit_open")
    #expect(try await Self.end(stack, .stack).0 == "policy/circuit_open")
    #expect(try await Self.end(stack, .with(Resilience(breaker: breaker))).0 == "policy/circuit_open")
    var (end, ledger) = try await Self.end(stack, StackPartUse<Resilience>.none)
    #expect(end == "200" && Self.notes(ledger).isEmpty)
    (end, ledger) = try await Self.end(stack, .with(Resilience(limiter: limiter)))
    #expect(end == "200" && Self.notes(ledger).map(\.bound?.limit) == [1])
    (end, ledger) = try await Self.end(stack, .with(Resilience(limiter: own)))
    #expect(end == "200" && Self.notes(ledger).map(\.bound?.limit) == [7])
    #expect(RequestOptions().layerUses[.resilience] == nil)
  }

  @Test("A stack explains the state of its server in each part")
  func explanation() async throws {
    let clock = ManualClock()
    let breaker = try Self.breaker(clock)
    let policy = PacingPolicy(pace: try .init(perSecond: 10, burst: 1))
    let resilience = Resilience(
      pacer: Pacer(policy, time: clock.timeSource), limiter: try ConcurrencyLimiter(.fixed(4), time: clock.timeSource),
      breaker: breaker)
    try Self.open(breaker)
    let stack = Self.stack(ScriptedTransport([]), resilience, clock)
    let page = await stack.explain(try Self.resource()).description
    for line in [
      "  pace: 10.0 requests a second\n", "  concurrency: 0 of 4 under way, 0 wait\n", "  circuit: open, for ",
    ] { #expect(page.contains(line), "\(line)\nin\n\(page)") }
    let unheeding = await stack.explain(try Self.resource(StackPartUse<Resilience>.none)).description
    #expect(unheeding.contains("  resilience: none for this request\n") && !unheeding.contains("circuit"))
    let plain = await Self.stack(ScriptedTransport([]), nil, clock).explain(try Self.resource()).description
    #expect(!plain.contains("circuit") && !plain.contains("resilience"))
  }

  @Test("A stack explains which of several servers was chosen, and its state compared with the others")
  func endpoints() async throws {
    let clock = ManualClock()
    let urls = ["https://api.example.org", "https://eu.example.org", "https://us.example.org"]
    let endpoints = try EndpointSet(
      try urls.map { try Endpoint($0) }, outliers: OutlierPolicy(consecutiveFailures: 1), time: clock.timeSource,
      random: .seeded(1))
    func page(_ use: StackPartUse<Resilience>? = nil) async throws -> String {
      await Self.stack(ScriptedTransport([]), Resilience(endpoints: endpoints), clock).explain(try Self.resource(use))
        .description
    }
    func lease(_ url: String) throws -> EndpointLease {
      let others = try urls.filter { $0 != url }.map { try Origin($0) }
      return endpoints.lease(avoiding: others)
    }
    #expect(try await page().contains("  endpoint: https://api.example.org, one of 3, in tier 0; 0 under way\n"))
    try lease(urls[1]).end(.failure, latency: .zero)
    let own = try lease(urls[0])
    for use in [nil, StackPartUse<Resilience>.none, .stack] {
      #expect(
        try await page(use).contains("; 1 under way; ejected of the others: https://eu.example.org\n"), "\(use as Any)")
    }
    own.end(.success, latency: .milliseconds(1))
    clock.advance(by: .seconds(60))
    try lease(urls[0]).end(.failure, latency: .zero)
    #expect(try await page().contains("; 0 under way; ejected\n"))
    let elsewhere = Resilience(endpoints: try EndpointSet([try Endpoint("https://other.example.org")]))
    let other = await Self.stack(ScriptedTransport([]), elsewhere, clock).explain(try Self.resource()).description
    #expect(!other.contains("endpoint"))
  }
}
