// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import Testing

@testable import LastroResilience

@Suite("Concurrency limiter", .timeLimit(.minutes(15)))
struct ConcurrencyLimiterTests {
  private static func key(_ host: String = "api.example.org") throws -> ResilienceKey {
    ResilienceKey(try Origin("https://\(host)"))
  }

  @Test("A permit that is dropped is returned, and one that is ended is returned once")
  func permits() async throws {
    let limiter = try ConcurrencyLimiter(.fixed(1), queueCapacity: 0)
    let key = try Self.key()
    for round in 0..<4 {
      let permit = try await limiter.permit(for: key)
      #expect(limiter.snapshot(of: key).inUse == 1)
      let error = await #expect(throws: TransportError.self) { _ = try await limiter.permit(for: key) }
      #expect(error?.code == .concurrencyLimited)
      #expect(error?.requestSent == false)
      if round % 2 == 0 { permit.end(.measured) } else { _ = consume permit }
      #expect(limiter.snapshot(of: key).inUse == 0)
    }
  }

  @Test("A request that ends admits a waiting one")
  func waits() async throws {
    let clock = ManualClock()
    let limiter = try ConcurrencyLimiter(.fixed(1), time: clock.timeSource)
    let key = try Self.key()
    let permit = try await limiter.permit(for: key)
    let second = Task { try await limiter.permit(for: key).end(.measured) }
    try await clock.waitForLimits(count: 1)
    #expect(limiter.snapshot(of: key).waiting == 1)
    permit.end(.measured)
    try await second.value
    #expect(limiter.snapshot(of: key) == .init(limit: 1, inUse: 0, waiting: 0))
  }

  @Test("A wait ends at its limit and when the caller is cancelled")
  func givenUp() async throws {
    let clock = ManualClock()
    let limiter = try ConcurrencyLimiter(.fixed(1), maximumWait: .seconds(1), time: clock.timeSource)
    let key = try Self.key()
    let permit = try await limiter.permit(for: key)
    let late = Task { try await limiter.permit(for: key).end(.measured) }
    try await clock.waitForLimits(count: 1)
    clock.advance(by: .seconds(1))
    let error = await #expect(throws: TransportError.self) { try await late.value }
    #expect(error?.code == .concurrencyLimited)
    let cancelled = Task { try await limiter.permit(for: key).end(.measured) }
    try await clock.waitForLimits(count: 1)
    cancelled.cancel()
    let end = await #expect(throws: TransportError.self) { try await cancelled.value }
    #expect(end?.code == .cancelled)
    permit.end(.measured)
    #expect(limiter.snapshot(of: key) == .init(limit: 1, inUse: 0, waiting: 0))
  }

  @Test("With a thousand tasks, a third of them cancelled, no permit is lost")
  func storm() async throws {
    let limiter = try ConcurrencyLimiter(.fixed(5), queueCapacity: 1_000, maximumWait: .seconds(60))
    let key = try Self.key()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<1_000 {
        group.addTask {
          let call = Task {
            let permit = try await limiter.permit(for: key)
            await Task.yield()
            if number % 2 == 0 { permit.end(.measured) }
          }
          if number % 3 == 0 {
            await Task.yield()
            call.cancel()
          }
          _ = await call.result
        }
      }
    }
    #expect(limiter.snapshot(of: key) == .init(limit: 5, inUse: 0, waiting: 0))
  }

  @Test("Keys beyond the maximum share one machine, and a permit returns to the machine that granted it")
  func keys() throws {
    var machines = KeyedMachines(maximumKeys: 2) { LimiterMachine(.fixed(1), capacity: 0) }
    let keys = try (0..<4).map { try Self.key("host\($0).example.org") }
    let places = keys.map { machines.place(of: $0, now: .zero) }
    #expect(places.map(\.isOwn) == [true, true, false, false])
    #expect(places[0] != places[1] && places[2] == places[3])
    #expect(machines.place(of: keys[0], now: .zero) == places[0])
    guard case .admitted(let grant) = machines[places[2]].ask(now: .zero, left: nil) else {
      Issue.record("not admitted")
      return
    }
    #expect(machines[places[3]].inUse == 1)
    // Idle machines are evicted when room is needed.
    let own = machines.place(of: keys[2], now: .seconds(3600))
    #expect(own.isOwn)
    _ = machines[places[2]].end(grant, .measured, now: .seconds(3600))
    #expect(machines[places[3]].inUse == 0)
    #expect(machines[own].inUse == 0)
  }
}
