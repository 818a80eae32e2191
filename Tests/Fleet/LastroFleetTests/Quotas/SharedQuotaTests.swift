// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroFleet
import LastroObservability
import LastroResilience
import LastroSupport
import LastroTesting
import Logging
import MetricsTestKit
import TestSupport
import Testing

@Suite("One quota for several instances", .timeLimit(.minutes(15)))
struct SharedQuotaTests {
  /// An instance of a service, over a server that responds at once.
  private struct Instance {
    let pacer: Pacer
    let stack: TransportNetworkStack

    func call() async throws -> AttemptLedger {
      try await stack.fetch(RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))).response.ledger
    }
  }

  private let clock = ManualClock()
  private let store: MemoryFleetStore
  private let log = LogLines()
  private let metrics = TestMetrics()

  init() {
    let time = clock.timeSource
    store = MemoryFleetStore(now: { .seconds(1_790_000_000) + time.now() })
  }

  /// Returns an instance after its first exchange with the store. Of the quota of 10 a second, each of two instances
  /// owns 5 a second.
  private func instance(
    _ whenUnshared: WhenUnshared = .fraction(of: 2), maximumWait: Duration = .seconds(60),
    _ response: ScriptedTransport.Step = .respond(status: 200)
  ) async throws -> Instance {
    let reads = store.reads
    let pacer = try Pacer(
      perSecond: 10, burst: 10, maximumWait: maximumWait, time: clock.timeSource, random: .constant(0.5)
    ).shared(in: store, as: "api", whenUnshared: whenUnshared, logger: Logger(label: "fleet") { [log] _ in log })
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = Resilience(pacer: pacer)
    configuration.observers = [.metrics(factory: metrics)]
    let stack = TransportNetworkStack(
      transport: ScriptedTransport(repeatingLast: response), configuration: configuration)
    if store.isUp { #expect(await eventually { store.reads > reads }) }
    return Instance(pacer: pacer, stack: stack)
  }

  private func explanation(_ instance: Instance) async throws -> String {
    await instance.stack.explain(RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))).description
  }

  /// Returns whether a number of lines is logged, after some time.
  private func logs(_ count: Int) async -> Bool {
    await eventually {
      clock.advance(by: .seconds(1))
      return log.all.count == count
    }
  }

  private static func texts(_ ledger: AttemptLedger) -> [String] {
    ledger.attempts.flatMap { $0.facts?.notes ?? [] }.map(\.text)
  }

  /// Returns the ledger of a call that waits until the clock has moved.
  private func waited(_ instance: Instance, by step: Duration = .milliseconds(50)) async throws -> AttemptLedger {
    let done = OneAnswer<Void>()
    let call = Task {
      defer { done.give(()) }
      return try await instance.call()
    }
    while !done.isGiven {
      clock.advance(by: step)
      try await Task.sleep(for: .milliseconds(1))
    }
    return try await call.value
  }

  @Test("A call is sent at once with a unit of its instance, and the next waits, which ledger and explain show")
  func ledger() async throws {
    let one = try await instance()
    #expect(try await explanation(one).contains("  pace: 10.0 requests a second, shared as api; 1 can be sent now\n"))
    #expect(Self.texts(try await one.call()) == [])
    let ledger = try await waited(one)
    let notes = ledger.attempts.flatMap { $0.facts?.notes ?? [] }
    #expect(notes.map(\.name) == ["quota"] && notes.map(\.detail) == ["shared"], "\(notes)")
    #expect(ledger.description.contains(" for the shared quota api"), "\(ledger)")
    #expect(!metrics.recorders(label: "lastro.client.wait.duration").isEmpty)
  }

  @Test("A Retry-After that one instance gets holds for the others, even if they have units")
  func retryAfter() async throws {
    let one = try await instance(
      .fraction(of: 2), maximumWait: .seconds(60), .respond(status: 429, headers: [.retryAfter: "600"]))
    let other = try await instance(maximumWait: .zero)
    let changes = store.changes
    _ = try? await one.call()
    #expect(await eventually { store.changes > changes })
    #expect(
      await eventually {
        clock.advance(by: .seconds(1))
        return (try? await explanation(other).contains("closed for")) ?? false
      })
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await other.call() }
    #expect(error?.code == .rateLimited, "\(error as Any)")
  }

  @Test("A lost store fails no call, and is reported once by log, ledger and metrics, and so is its return")
  func loss() async throws {
    let one = try await instance()
    store.fail(MemoryFleetStore.down)
    #expect(await logs(1))
    let lost = "the store of the shared quota api is lost, and this instance uses its fraction of 1/2"
    #expect(log.all == ["warning: \(lost): unreachable: the store is down"])
    #expect(Self.texts(try await one.call()) == [lost])
    #expect(try await explanation(one).contains("; the store is lost, and this instance uses its fraction of 1/2\n"))
    for _ in 0..<4 {
      let ledger = try await waited(one)
      #expect(!ledger.description.contains(" is lost, and"), "\(ledger)")
    }
    store.fail(nil)
    #expect(await logs(2))
    #expect(log.all.last == "notice: the store of the shared quota api is back")
    #expect(Self.texts(try await waited(one)).contains("the store of the shared quota api is back"))
    let changes = metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(Set(changes.compactMap { $0.dimensions.last?.1 }) == ["store_lost", "store_back"])
  }

  @Test("A loss and a return between two calls are both in the ledger of the second one")
  func lossBetweenCalls() async throws {
    let one = try await instance()
    store.fail(MemoryFleetStore.down)
    #expect(await logs(1))
    store.fail(nil)
    #expect(await logs(2))
    let back = "the store of the shared quota api is back"
    #expect(
      Self.texts(try await one.call()) == [
        "the store of the shared quota api is lost, and this instance uses its fraction of 1/2", back,
      ])
    #expect(!Self.texts(try await waited(one)).contains(back))
  }

  @Test("Without fractions a call waits for the store, and is refused when its time is over")
  func waits() async throws {
    let one = try await instance(.wait, maximumWait: .seconds(2))
    #expect(Self.texts(try await waited(one)).count == 1)
    store.fail(MemoryFleetStore.down)
    #expect(await logs(1))
    #expect(log.all.first?.contains("is lost, and requests wait for it") ?? false)
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { _ = try await waited(one) }
    #expect(error?.code == .rateLimited, "\(error as Any)")
  }

  @Test("A call that must wait is refused at once if waits are not allowed")
  func refused() async throws {
    let one = try await instance(maximumWait: .zero)
    _ = try await one.call()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { _ = try await one.call() }
    #expect(error?.code == .rateLimited && error?.stage == .policy, "\(error as Any)")
  }

  @Test("A cancelled call takes no unit, and a call that the breaker refuses returns its unit")
  func returned() async throws {
    let one = try await instance(.fraction(of: 1))
    store.fail(MemoryFleetStore.down)
    #expect(await logs(1))
    while try await !explanation(one).contains("; 0 can be sent now") { _ = try await one.call() }
    let waiting = Task { try await one.call() }
    #expect(await eventually { clock.sleepers > 0 })
    waiting.cancel()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await waiting.value }
    #expect(error?.code == .cancelled, "\(error as Any)")
    clock.advance(by: .milliseconds(100))
    #expect(try await explanation(one).contains("; 1 can be sent now"))
    let breaker = try CircuitBreaker(window: .calls(2), minimumCalls: 2, time: clock.timeSource)
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = Resilience(breaker: breaker)
    let broken = TransportNetworkStack(
      transport: ScriptedTransport(repeatingLast: .respond(status: 500)), configuration: configuration)
    for _ in 0..<2 { _ = try? await Instance(pacer: one.pacer, stack: broken).call() }
    configuration.resilience = Resilience(pacer: one.pacer, breaker: breaker)
    let both = TransportNetworkStack(
      transport: ScriptedTransport(repeatingLast: .respond(status: 200)), configuration: configuration)
    let refusal = await #expect(throws: HTTPFetchError<any Error>.self) {
      _ = try await Instance(pacer: one.pacer, stack: both).call()
    }
    #expect(refusal?.code == .circuitOpen)
    #expect(try await explanation(one).contains("; 1 can be sent now"))
  }

  @Test("An instance that leaves gives back its units and its fraction, and returns with its next call")
  func leaves() async throws {
    let one = try await instance(.fraction(of: 1))
    await one.pacer.leave()
    #expect(String(decoding: store.values[0], as: UTF8.self).contains(#""members":{}"#))
    #expect(try await explanation(one).contains("; 0 can be sent now"))
    _ = try await waited(one)
    #expect(!String(decoding: store.values[0], as: UTF8.self).contains(#""members":{}"#))
  }

  @Test("An instance that returns later has its share again, and relies on what it has seen only if that is recent")
  func returnsLater() async throws {
    for (pause, reads) in [(60, 0), (100, 1)] {
      let one = try await instance(.fraction(of: 1), maximumWait: .zero)
      await one.pacer.leave()
      let before = (reads: store.reads, changes: store.changes)
      clock.advance(by: .seconds(pause))
      await #expect(throws: HTTPFetchError<any Error>.self) { try await one.call() }
      #expect(await eventually { store.changes > before.changes })
      #expect(store.reads == before.reads + reads, "\(pause)")
      var sent = 0
      for _ in 0..<200 {
        clock.advance(by: .milliseconds(50))
        if (try? await one.call()) != nil { sent += 1 }
      }
      // In ten seconds: the pace, and the burst at most.
      #expect((98...110).contains(sent), "\(sent)")
    }
  }

  @Test("Options that cannot be are refused")
  func options() throws {
    let pacer = try Pacer(perSecond: 10)
    func message(_ make: () throws -> Pacer) -> String? {
      do { _ = try make() } catch { return "\(error)" }
      return nil
    }
    let file = store
    #expect(
      message { try Pacer().shared(in: file, as: "api", whenUnshared: .wait) }
        == "the pacer has no pace to share (make the pacer with a number of requests per second, and share it then)")
    #expect(
      message { try pacer.shared(in: file, as: "api", whenUnshared: .fraction(of: 0)) }
        == "fraction(of: 0) is out of range (1 to 10000) "
        + "(give the largest number of instances that run at the same time)")
    #expect(
      message { try pacer.shared(in: file, as: "", whenUnshared: .wait) }?.hasPrefix("the quota name") ?? false)
    #expect(
      message { try pacer.shared(in: file, as: String(repeating: "a", count: 61), whenUnshared: .wait) }
        == "the quota name has 61 characters, above the limit of 60 (give a short name)")
  }
}
