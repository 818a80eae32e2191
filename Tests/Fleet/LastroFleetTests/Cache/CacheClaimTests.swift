// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import MetricsTestKit
import TestSupport
import Testing

@testable import LastroFleet

@Suite("Equal requests of several instances", .timeLimit(.minutes(15)))
struct CacheClaimTests {
  /// Returns the results of calls. The clock advances while one of them waits for another instance.
  private func results(
    _ fleet: CacheFleet, _ calls: [Task<CacheFleet.Got, any Error>]
  ) async throws -> [CacheFleet.Got] {
    let done = OneAnswer<Void>()
    let all = Task {
      defer { done.give(()) }
      var results: [CacheFleet.Got] = []
      for call in calls { results.append(try await call.value) }
      return results
    }
    while !done.isGiven {
      if fleet.clock.sleepers > 0 { fleet.clock.advance(by: .milliseconds(5)) }
      try await Task.sleep(for: .milliseconds(1))
    }
    return try await all.value
  }

  /// Returns a fleet whose origin holds its first response until a gate is opened.
  private func held(_ fields: HTTPFields = CacheFleet.fresh) -> (fleet: CacheFleet, gate: Watched<Bool>) {
    let gate = Watched(false)
    let fleet = CacheFleet(advances: false) { (_, number) throws(TransportError) in
      if number == 0 { _ = await gate.wait { $0 } }
      return .answer(200, fields: fields, body: "body \(number)")
    }
    return (fleet, gate)
  }

  /// Returns whether the store has a lease in a state, after some time.
  private func hasLease(_ fleet: CacheFleet, _ state: CacheLease.State) async -> Bool {
    await eventually { fleet.store.values.contains { CacheLease($0)?.state == state } }
  }

  private func notes(_ got: CacheFleet.Got) -> [TransferFacts.Note] { got.notes.filter { $0.name == "collapsed" } }

  @Test("Of twenty instances one asks the server, and the others wait for its response, which their ledgers show")
  func one() async throws {
    let (fleet, gate) = held()
    let first = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let others = try (1..<20).map { _ in try fleet.instance() }
    let calls = others.map { other in Task { try await other.get() } }
    #expect(await eventually { fleet.clock.sleepers == 19 })
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .stored))
    let results = try await results(fleet, [leader] + calls)
    #expect(results.allSatisfy { $0.body == "body 0" } && fleet.transfers == 1)
    let notes = results.dropFirst().flatMap(notes)
    #expect(notes.count == 19 && notes.allSatisfy { $0.detail == "shared" && $0.wait ?? .zero > .zero })
    #expect(notes.allSatisfy { $0.text.hasSuffix(" for an equal request of another instance") })
    #expect(!fleet.metrics.recorders(label: "lastro.client.wait.duration").isEmpty)
  }

  @Test("An instance that ends while it asks the server delays the others for the lease, and one of them takes over")
  func crashed() async throws {
    let (fleet, gate) = held()
    let first = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let other = try fleet.instance()
    let start = fleet.clock.now
    let call = Task { try await other.get() }
    let got = try await results(fleet, [call])[0]
    #expect(got.body == "body 1" && fleet.clock.now - start <= .milliseconds(2_100))
    #expect(notes(got).map(\.detail) == ["alone"])
    gate.change { $0 = true }
    _ = try await leader.value
  }

  @Test("A response that may not be stored releases the others at once, and the next ones for a while")
  func unstored() async throws {
    let (fleet, gate) = held([.cacheControl: "no-store"])
    let first = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let calls = try (0..<3).map { _ in
      let other = try fleet.instance()
      return Task { try await other.get() }
    }
    #expect(await eventually { fleet.clock.sleepers == 3 })
    let start = fleet.clock.now
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .unstored))
    #expect(try await results(fleet, [leader] + calls).count == 4)
    #expect(fleet.transfers == 4 && fleet.clock.now - start < .seconds(1))
    #expect(notes(try await fleet.instance().get()).isEmpty && fleet.transfers == 5)
  }

  @Test("A response that must be validated before each use releases the others at once")
  func unshareable() async throws {
    let (fleet, gate) = held([.cacheControl: "no-cache", .eTag: "\"v1\""])
    let first = try fleet.instance(), second = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let call = Task { try await second.get() }
    #expect(await eventually { fleet.clock.sleepers == 1 })
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .unstored))
    #expect(try await results(fleet, [leader, call]).count == 2 && fleet.transfers == 2)
  }

  /// Returns a fleet whose store responds while the gate is open.
  private func fleet(behind gate: Watched<Bool>) -> CacheFleet {
    CacheFleet(advances: false, pause: { _ = await gate.wait { $0 } }) { (_, _) throws(TransportError) in .answer(200) }
  }

  @Test("No lease is written when no time is left, and a store that hangs delays a request no longer than it may wait")
  func bounded() async throws {
    let gate = Watched(true)
    let fleet = fleet(behind: gate)
    let key = CacheKey(url: [1])
    let one = try #require(try fleet.instance().shared)
    let mark = await one.update([key])
    func isRefused(within limit: Duration) async -> Bool {
      if case .refused = await one.claim(key, "", after: mark, within: limit).claim { true } else { false }
    }
    let operations = await fleet.operations { #expect(await isRefused(within: .zero)) }
    #expect(operations == 0)
    gate.change { $0 = false }
    let hanging = Task { await isRefused(within: .milliseconds(100)) }
    #expect(await eventually { fleet.clock.nextLimit == fleet.clock.now + .milliseconds(100) })
    fleet.clock.advance(by: .milliseconds(100))
    #expect(await hanging.value)
    gate.change { $0 = true }
  }

  @Test("A request that ends while its lease is written leaves no lease behind")
  func abandoned() async throws {
    let gate = Watched(true)
    let fleet = fleet(behind: gate)
    let key = CacheKey(url: [1])
    let one = try #require(try fleet.instance().shared)
    let mark = await one.update([key])
    gate.change { $0 = false }
    let claim = Task { await one.claim(key, "", after: mark, within: nil) }
    #expect(await eventually { fleet.clock.nextLimit != nil })
    claim.cancel()
    _ = await claim.value
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .unstored))
    #expect(!fleet.store.values.contains { CacheLease($0)?.state == .held })
  }

  @Test("A lease that the store writes only after it counts as lost is ended")
  func belated() async throws {
    let gate = Watched(true)
    let fleet = fleet(behind: gate)
    let key = CacheKey(url: [1])
    let one = try #require(try fleet.instance().shared)
    let mark = await one.update([key])
    gate.change { $0 = false }
    let claim = Task {
      if case .refused = await one.claim(key, "", after: mark, within: nil).claim { true } else { false }
    }
    #expect(await eventually { fleet.clock.nextLimit == fleet.clock.now + StoreLink.limit })
    fleet.clock.advance(by: StoreLink.limit)
    #expect(await claim.value)
    #expect(one.words().hasSuffix("the store is lost"))
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .unstored))
    #expect(!fleet.store.values.contains { CacheLease($0)?.state == .held })
  }

  @Test("A server that fails releases the others at once, and they ask it themselves")
  func failed() async throws {
    let gate = Watched(false)
    let fleet = CacheFleet(advances: false) { (_, number) throws(TransportError) in
      if number > 0 { return .answer(200, fields: CacheFleet.fresh, body: "body \(number)") }
      _ = await gate.wait { $0 }
      throw TransportError(stage: .connect, code: .connectFailed, message: "down")
    }
    let first = try fleet.instance(), second = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let call = Task { try await second.get() }
    #expect(await eventually { fleet.clock.sleepers == 1 })
    gate.change { $0 = true }
    #expect(await hasLease(fleet, .unstored))
    #expect(try await results(fleet, [call])[0].body == "body 1")
    await #expect(throws: (any Error).self) { try await leader.value }
  }

  @Test("Requests for different senders, variants or modes do not wait for each other")
  func different() async throws {
    let (fleet, gate) = held()
    let first = try fleet.instance(), second = try fleet.instance()
    let leader = Task { try await first.get { $0.principal = "ann" } }
    #expect(await eventually { fleet.transfers == 1 })
    #expect(try await second.get { $0.principal = "bob" }.body == "body 1")
    #expect(try await second.get().body == "body 2")
    #expect(try await second.get { ($0.principal, $0.cache) = ("ann", .reload) }.body == "body 3")
    gate.change { $0 = true }
    _ = try await leader.value
  }

  @Test("A cancelled request stops waiting, and a deadline shortens the wait")
  func interrupted() async throws {
    let (fleet, gate) = held()
    let first = try fleet.instance(), second = try fleet.instance(), third = try fleet.instance()
    let leader = Task { try await first.get() }
    #expect(await eventually { fleet.transfers == 1 })
    let cancelled = Task { try await second.get() }
    #expect(await eventually { fleet.clock.sleepers == 1 })
    cancelled.cancel()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await cancelled.value }
    #expect(error?.code == .cancelled)
    let start = fleet.clock.now
    let hurried = Task {
      let timeouts = try Timeouts(total: .milliseconds(500))
      return try await third.get { $0.timeouts = timeouts }
    }
    #expect(try await results(fleet, [hurried])[0].body == "body 1")
    #expect(fleet.clock.now - start < .milliseconds(400))
    gate.change { $0 = true }
    _ = try await leader.value
  }

  @Test("A lease that cannot be read makes no request wait or fail")
  func garbled() async throws {
    let fleet = CacheFleet(advances: false)
    try await fleet.instance().settledGet()
    func leases() -> [String] {
      fleet.store.keys.filter { fleet.store.value(of: $0).flatMap { CacheLease($0) }?.state == .stored }
    }
    #expect(await hasLease(fleet, .stored))
    for lease in leases() { fleet.store.put(Array("not a lease".utf8), for: lease) }
    for key in fleet.store.keys where fleet.store.value(of: key)?.count ?? 0 > 100 { fleet.store.evict(key) }
    #expect(try await fleet.instance().get().outcome == .missed)
    #expect(fleet.transfers == 2)
  }

  @Test("The form of leases is read back, and every other value is rejected")
  func form() {
    let lease = CacheLease(.stored, number: .max - 1, time: 7)
    #expect(CacheLease(lease.bytes) == lease)
    for count in 0..<lease.bytes.count { #expect(CacheLease(Array(lease.bytes.prefix(count))) == nil) }
    #expect(CacheLease(lease.bytes + [0]) == nil)
    #expect(CacheLease([2] + lease.bytes.dropFirst()) == nil)
    for state in [UInt8(0), 4, 255] { #expect(CacheLease([1, state] + lease.bytes.dropFirst(2)) == nil) }
  }
}
