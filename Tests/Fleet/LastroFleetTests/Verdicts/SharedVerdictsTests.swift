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

@Suite("One verdict for several instances", .timeLimit(.minutes(15)))
struct SharedVerdictsTests {
  /// An instance of a service, and the status with which its server responds.
  private struct Instance {
    let stack: TransportNetworkStack
    let transport: ScriptedTransport

    func call() async throws -> AttemptLedger {
      try await stack.fetch(RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))).response.ledger
    }

    /// Returns the code of the call's failure, and the texts of its notes.
    func end() async throws -> (code: FailureCode?, notes: [String]) {
      do {
        return (nil, SharedVerdictsTests.texts(try await call()))
      } catch let error as HTTPFetchError<any Error> {
        return (error.code, SharedVerdictsTests.texts(error.ledger))
      }
    }

    func explanation() async throws -> String {
      await stack.explain(RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))).description
    }
  }

  private let clock = ManualClock()
  private let store: MemoryFleetStore
  private let isHanging = Lock(false)
  private let log = LogLines()
  private let metrics = TestMetrics()
  /// The status with which the server responds.
  private let status = Lock(HTTPResponse.Status.internalServerError)
  /// The number of the instance to which the server does not respond for now, and the number of instances.
  private let silent = Lock<Int?>(nil)
  private let count = Lock(0)

  init() {
    let time = clock.timeSource, isHanging = isHanging
    store = MemoryFleetStore(now: { .seconds(1_790_000_000) + time.now() }) {
      while isHanging.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
    }
  }

  /// - Parameter opensItself: whether four failed calls open the circuit.
  private func instance(opensItself: Bool = true) throws -> Instance {
    let number = count.withLock { count in
      count += 1
      return count
    }
    let breaker = try CircuitBreaker(
      minimumCalls: opensItself ? 4 : 1000, probes: 1, time: clock.timeSource, random: .seeded(1)
    ).shared(in: store, as: "shop", logger: Logger(label: "fleet") { [log] _ in log })
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = Resilience(breaker: breaker)
    configuration.observers = [.metrics(factory: metrics)]
    let transport = ScriptedTransport { [status, silent] _, _ throws(TransportError) in
      while silent.withLock({ $0 == number }) { try? await Task.sleep(for: .milliseconds(1)) }
      return TransferResponse(head: HTTPResponse(status: status.withLock { $0 }), body: ResponseBody(Data()))
    }
    return Instance(
      stack: TransportNetworkStack(transport: transport, configuration: configuration), transport: transport)
  }

  fileprivate static func texts(_ ledger: AttemptLedger) -> [String] {
    ledger.attempts.flatMap { $0.facts?.notes ?? [] }.map(\.text)
  }

  /// Makes calls until the circuit of an instance is open, and waits until that is in the store.
  private func open(_ instance: Instance) async throws {
    let before = store.values
    for _ in 0..<4 { _ = try await instance.end() }
    #expect(try await instance.explanation().contains("circuit: open"))
    if store.isUp { #expect(await eventually { store.values != before }) }
  }

  /// Makes a call at intervals of a second, until one ends as expected.
  private func calls(
    _ instance: Instance, by step: Duration = .seconds(1), until isMet: (FailureCode?, [String]) -> Bool
  ) async throws -> Bool {
    try await eventually {
      clock.advance(by: step)
      let (code, notes) = try await instance.end()
      return isMet(code, notes)
    }
  }

  @Test("A circuit that one instance opens opens that of another after one failed call; ledger and explain say so")
  func hint() async throws {
    let one = try instance(), other = try instance(opensItself: false)
    try await open(one)
    #expect(
      try await calls(other, by: .milliseconds(10)) { code, notes in
        code == .circuitOpen && notes == ["circuit from closed to open, because another instance opened it"]
      })
    let words = try await other.explanation()
    #expect(words.contains("circuit: open, for "), "\(words)")
    #expect(words.contains(", because another instance opened it; shared as shop\n"), "\(words)")
    let changes = metrics.counters.filter { $0.label == "lastro.client.circuit.changes" }
    #expect(!changes.isEmpty && log.all.isEmpty)
  }

  @Test("An instance whose attempts succeed does not believe another one, however often that opens its circuit")
  func contradicted() async throws {
    let one = try instance(), other = try instance(opensItself: false)
    for _ in 0..<3 {
      status.withLock { $0 = .ok }
      _ = try await other.call()
      status.withLock { $0 = .internalServerError }
      for _ in 0..<4 { _ = try await one.end() }
      status.withLock { $0 = .ok }
      for _ in 0..<4 {
        clock.advance(by: .seconds(2))
        _ = try await other.call()
      }
      // It has read the record at least once since then.
      let reads = store.reads
      clock.advance(by: .seconds(6))
      _ = try await other.call()
      #expect(await eventually { store.reads > reads })
      for _ in 0..<3 { _ = try await other.call() }
      #expect(try await other.explanation().contains("circuit: closed; shared as shop\n"))
    }
  }

  @Test("One instance probes at a time; the other is refused, and closes its circuit soon after the first has")
  func probes() async throws {
    let one = try instance(), other = try instance(opensItself: false)
    try await open(one)
    #expect(try await calls(other, by: .milliseconds(10)) { code, _ in code == .circuitOpen })
    // Both may probe now.
    clock.advance(by: .seconds(7))
    silent.withLock { $0 = 1 }
    let sent = one.transport.requests.count
    let probe = Task { try await one.end() }
    #expect(await eventually { one.transport.requests.count > sent })
    let requests = other.transport.requests.count
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await other.call() }
    #expect(error?.message.contains("is open: another instance probes the server") ?? false, "\(error as Any)")
    #expect(other.transport.requests.count == requests)
    status.withLock { $0 = .ok }
    silent.withLock { $0 = nil }
    let (code, notes) = try await probe.value
    #expect(code == nil && notes.contains("circuit from half-open to closed"), "\(notes)")
    #expect(
      try await calls(other, by: .milliseconds(500)) { code, notes in
        code == nil && notes.contains("circuit from open to half-open, because another instance closed it")
      })
    #expect(try await other.explanation().contains("circuit: closed"))
  }

  @Test("An instance that ends while it probes keeps the others from probing for one break at most")
  func lostProber() async throws {
    let one = try instance(), other = try instance(opensItself: false)
    try await open(one)
    #expect(try await calls(other, by: .milliseconds(10)) { code, _ in code == .circuitOpen })
    clock.advance(by: .seconds(7))
    silent.withLock { $0 = 1 }
    let sent = one.transport.requests.count
    let probe = Task { try await one.end() }
    #expect(await eventually { one.transport.requests.count > sent })
    #expect(try await calls(other) { _, notes in notes.contains("circuit from half-open to open") })
    silent.withLock { $0 = nil }
    _ = try? await probe.value
  }

  @Test(
    "A lost store fails no call, keeps each circuit as it is alone, and is reported once by log, ledger and metrics")
  func loss() async throws {
    store.fail(MemoryFleetStore.down)
    status.withLock { $0 = .ok }
    let one = try instance()
    let lost = "the store of the shared circuits shop is lost, and each instance follows its own attempts"
    #expect(try await calls(one) { code, notes in notes == [lost] && code == nil })
    #expect(await eventually { log.all == ["warning: \(lost): unreachable: the store is down"] })
    #expect(try await one.explanation().contains("circuit: closed; shared as shop; the store is lost, and each "))
    for _ in 0..<4 { #expect(try await Self.texts(one.call()) == []) }
    clock.advance(by: .seconds(60))
    status.withLock { $0 = .internalServerError }
    try await open(one)
    clock.advance(by: .seconds(7))
    status.withLock { $0 = .ok }
    // It probes without waiting for the store.
    let (code, notes) = try await one.end()
    #expect(code == nil && notes.contains("waited 0 ms for the turn to probe"), "\(notes)")
    store.fail(nil)
    #expect(try await calls(one) { _, notes in notes == ["the store of the shared circuits shop is back"] })
    #expect(await eventually { log.all.count == 2 })
    #expect(log.all.last == "notice: the store of the shared circuits shop is back")
    let changes = metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(Set(changes.compactMap { $0.dimensions.last?.1 }) == ["store_lost", "store_back"])
  }

  @Test("A store that hangs delays a probe by half a second at most, and no other call")
  func hanging() async throws {
    let one = try instance()
    isHanging.withLock { $0 = true }
    try await open(one, isStored: false)
    clock.advance(by: .seconds(7))
    let sent = one.transport.requests.count
    let probe = Task { try await one.end() }
    #expect(await eventually { clock.nextLimit.map { $0 <= clock.now + .milliseconds(500) } ?? false })
    #expect(one.transport.requests.count == sent)
    clock.advance(by: .milliseconds(500))
    let notes = try await probe.value.notes
    #expect(notes.contains("waited 500 ms for the turn to probe"), "\(notes)")
    isHanging.withLock { $0 = false }
  }

  private func open(_ instance: Instance, isStored: Bool) async throws {
    for _ in 0..<4 { _ = try await instance.end() }
    #expect(try await instance.explanation().contains("circuit: open"))
  }

  @Test("A garbled record counts as none, and is replaced by the next verdict")
  func garbled() async throws {
    let key = "verdict:shop:https://api.example.org"
    _ = try await store.set(key, to: Array("garbled".utf8), ifCurrently: nil, expiresAfter: .seconds(600))
    let one = try instance()
    try await open(one)
    #expect(String(decoding: store.values[0], as: UTF8.self).contains(#""isOpen":true"#))
    #expect(log.all.isEmpty)
    let other = try instance(opensItself: false)
    #expect(try await calls(other, by: .milliseconds(10)) { code, _ in code == .circuitOpen })
  }

  @Test("A record that claims an endless break and an endless turn keeps no instance off for longer than its policy")
  func hostile() async throws {
    let key = "verdict:shop:https://api.example.org"
    let record = #"{"id":1,"isOpen":true,"by":"x","until":9e18,"prober":"x","probesUntil":9000000000000000000}"#
    _ = try await store.set(
      key, to: Array(record.replacing("9e18", with: "9000000000000000000").utf8), ifCurrently: nil,
      expiresAfter: .seconds(6000))
    let one = try instance(opensItself: false)
    #expect(try await calls(one, by: .milliseconds(10)) { code, _ in code == .circuitOpen })
    let start = clock.now, sent = one.transport.requests.count
    #expect(try await calls(one) { _, _ in one.transport.requests.count > sent })
    #expect(clock.now - start <= .seconds(61), "\(clock.now - start)")
  }

  @Test("Two circuits of one breaker have a record each")
  func parts() async throws {
    let one = try instance()
    try await open(one)
    let changes = store.changes
    let url = "https://other.example.org/"
    for _ in 0..<4 { _ = try? await one.stack.fetch(RawHTTPResource.raw(try ResourceRequest(url: url))) }
    #expect(await eventually { store.changes > changes && store.values.count == 2 })
  }

  @Test("Options that cannot be are refused")
  func options() throws {
    let breaker = CircuitBreaker(), file = store
    func message(_ make: () throws -> CircuitBreaker) -> String? {
      do { _ = try make() } catch { return "\(error)" }
      return nil
    }
    #expect(
      message { try breaker.shared(in: file, as: "shop").shared(in: file, as: "shop") }
        == "the breaker is already shared (share a breaker once, and use the result)")
    #expect(message { try breaker.shared(in: file, as: "") }?.hasPrefix("the name of the circuits") ?? false)
    #expect(
      message { try breaker.shared(in: file, as: String(repeating: "a", count: 41)) }
        == "the name of the circuits has 41 characters, above the limit of 40 (give a short name)")
  }
}
