// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import Testing

@testable import LastroResilience

@Suite("Resilient transport", .timeLimit(.minutes(15)))
struct ResilientTransportTests {
  private static func request(deadline: Duration? = nil) -> TransferRequest {
    TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "api.example.org", path: "/"), deadline: deadline)
  }

  private static func key() throws -> ResilienceKey { ResilienceKey(try Origin("https://api.example.org")) }

  /// Returns the stage and code of the failure, or the status of the response.
  private static func end(_ transport: any Transport, _ request: TransferRequest = request()) async -> String {
    do throws(TransportError) {
      return "\(try await transport.execute(request).head.status.code)"
    } catch {
      return "\(error.stage.rawValue)/\(error.code)"
    }
  }

  /// Returns the end of a request, followed by the texts of its notes.
  private static func ends(_ transport: any Transport) async -> [String] {
    do throws(TransportError) {
      let response = try await transport.execute(request())
      return ["\(response.head.status.code)"] + response.facts.notes.map(\.text)
    } catch {
      return ["\(error.stage.rawValue)/\(error.code)"] + (error.facts?.notes.map(\.text) ?? [])
    }
  }

  @Test("A breaker opens on the transport's outcomes, refuses without sending, and notes its changes")
  func breaker() async throws {
    let clock = ManualClock()
    let scripted = ScriptedTransport { (_, index) throws(TransportError) in
      if index < 4 { throw TransportError(stage: .connect, code: .connectFailed, message: "down") }
      return TransferResponse(head: .init(status: 200), body: ResponseBody(Data()))
    }
    let policy = CircuitBreakerPolicy(minimumCalls: 4, probes: 1)
    let breaker = CircuitBreaker(policy: policy, time: clock.timeSource, random: .seeded(1))
    let transport = ResilientTransport(over: scripted, Resilience(breaker: breaker), time: clock.timeSource)
    for _ in 0..<3 { #expect(await Self.ends(transport) == ["connect/connect_failed"]) }
    #expect(await Self.ends(transport) == ["connect/connect_failed", "circuit from closed to open"])
    #expect(await Self.ends(transport) == ["policy/circuit_open"])
    #expect(scripted.requests.count == 4)
    #expect(transport.explain(Self.request()).first { $0.name == "circuit" }?.value.hasPrefix("open, for ") == true)
    clock.advance(by: .seconds(6))
    #expect(
      await Self.ends(transport) == ["200", "circuit from open to half-open", "circuit from half-open to closed"])
    #expect(breaker.state(of: try Self.key()) == .closed)
  }

  @Test("A Retry-After applies to other requests, and waits count towards the deadline")
  func pacing() async throws {
    let clock = ManualClock(autoAdvance: true)
    let scripted = ScriptedTransport([
      .respond(status: 429, headers: [.retryAfter: "4"], body: ""), .respond(status: 200, body: ""),
    ])
    let pacer = try Pacer(time: clock.timeSource, random: .seeded(1))
    let transport = ResilientTransport(over: scripted, Resilience(pacer: pacer), time: clock.timeSource)
    #expect(await Self.end(transport) == "429")
    #expect(await Self.end(transport, Self.request(deadline: .seconds(3))) == "policy/rate_limited")
    #expect(await Self.end(transport, Self.request(deadline: .seconds(10))) == "200")
    #expect(scripted.requests.last?.deadline == .seconds(6))
  }

  @Test("A limiter admits as many requests as allowed, and a cancelled one returns its permit")
  func limiter() async throws {
    let limiter = try ConcurrencyLimiter(.fixed(1), queueCapacity: 0)
    let begun = OneAnswer<Void>()
    let scripted = ScriptedTransport { _ throws(TransportError) in
      begun.give(())
      do { try await Task.sleep(for: .seconds(3_600)) } catch {}
      throw .cancelled(requestSent: true)
    }
    let transport = ResilientTransport(over: scripted, Resilience(limiter: limiter))
    let hanging = Task { await Self.end(transport) }
    await begun.wait()
    #expect(await Self.end(transport) == "policy/concurrency_limited")
    hanging.cancel()
    #expect(await hanging.value == "cancelled/cancelled")
    #expect(limiter.snapshot(of: try Self.key()) == .init(limit: 1, inUse: 0, waiting: 0))
  }

  @Test("Requests refused by an open circuit cost no server quota: after the break the first request is sent")
  func quotaOfOpenCircuit() async throws {
    let clock = ManualClock()
    let quota: HTTPFields = [
      try #require(.init("X-RateLimit-Remaining")): "50", try #require(.init("X-RateLimit-Reset")): "3600",
    ]
    let scripted = ScriptedTransport { (_, index) throws(TransportError) in
      let isDown = (1...19).contains(index)
      return TransferResponse(
        head: .init(status: isDown ? 500 : 200, headerFields: index == 0 ? quota : [:]), body: ResponseBody(Data()))
    }
    let resilience = Resilience(
      pacer: try Pacer(key: { _ in "" }, time: clock.timeSource, random: .seeded(1)),
      breaker: try CircuitBreaker(time: clock.timeSource, random: .seeded(1)))
    let transport = ResilientTransport(over: scripted, resilience, time: clock.timeSource)
    #expect(await Self.end(transport) == "200")
    for _ in 0..<19 { #expect(await Self.end(transport) == "500") }
    for _ in 0..<40 { #expect(await Self.end(transport) == "policy/circuit_open") }
    #expect(resilience.pacer?.status(of: try Self.key()).left == 31)
    clock.advance(by: .seconds(6))
    #expect(await Self.end(transport) == "200")
    #expect(scripted.requests.count == 21)
  }

  @Test("Requests refused by the limiter, or cancelled before it, cost no server quota")
  func quotaOfFullLimiter() async throws {
    let quota: HTTPFields = [
      try #require(.init("X-RateLimit-Remaining")): "50", try #require(.init("X-RateLimit-Reset")): "3600",
    ]
    let begun = OneAnswer<Void>()
    let scripted = ScriptedTransport { (_, index) throws(TransportError) in
      if index == 0 {
        return TransferResponse(head: .init(status: 200, headerFields: quota), body: ResponseBody(Data()))
      }
      begun.give(())
      do { try await Task.sleep(for: .seconds(3_600)) } catch {}
      throw .cancelled(requestSent: true)
    }
    let clock = ManualClock()
    let limiter = try ConcurrencyLimiter(.fixed(1), queueCapacity: 1, time: clock.timeSource)
    let pacer = try Pacer(key: { _ in "" }, time: clock.timeSource)
    let transport = ResilientTransport(
      over: scripted, Resilience(pacer: pacer, limiter: limiter), time: clock.timeSource)
    #expect(await Self.end(transport) == "200")
    let hanging = Task { await Self.end(transport) }
    await begun.wait()
    let waiting = Task { await Self.end(transport) }
    try await clock.waitForLimits(count: 1)
    for _ in 0..<60 { #expect(await Self.end(transport) == "policy/concurrency_limited") }
    #expect(pacer.status(of: try Self.key()).left == 48)
    waiting.cancel()
    #expect(await waiting.value == "cancelled/cancelled")
    #expect(pacer.status(of: try Self.key()).left == 49)
    hanging.cancel()
    #expect(await hanging.value == "cancelled/cancelled")
  }

  @Test("In a stack three attempts count three times, and a refusal is not retried")
  func underStack() async throws {
    let clock = ManualClock(autoAdvance: true)
    let scripted = ScriptedTransport { _ throws(TransportError) in
      TransferResponse(head: .init(status: 500), body: ResponseBody(Data()))
    }
    let breaker = CircuitBreaker(
      policy: CircuitBreakerPolicy(minimumCalls: 5), time: clock.timeSource, random: .seeded(1))
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.interceptors = [.retry]
    let stack = TransportNetworkStack(
      transport: ResilientTransport(over: scripted, Resilience(breaker: breaker), time: clock.timeSource),
      configuration: configuration)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))
    var attempts: [Int] = []
    for _ in 0..<3 {
      do throws(HTTPFetchError<any Error>) {
        _ = try await stack.fetch(resource)
      } catch {
        attempts.append(error.attempts.count)
      }
    }
    // The fifth failure opens the circuit.
    #expect(attempts == [3, 3, 1])
    #expect(scripted.requests.count == 5)
  }
}
