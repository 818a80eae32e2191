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

@Suite("A shared cache whose store fails", .timeLimit(.minutes(15)))
struct SharedCacheLossTests {
  private func fleetTexts(_ got: CacheFleet.Got) -> [String] {
    got.notes.filter { $0.name == "fleet" }.map(\.text)
  }

  private func explanation(_ instance: CacheFleet.Instance) async throws -> String {
    await instance.stack.explain(try RawHTTPResource.test()).description
  }

  @Test("A lost store fails no call, and is reported once by log, ledger, metrics and explain, and so is its return")
  func loss() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    try await one.settledGet()
    #expect(try await explanation(one).contains("; shared as shop\n"))
    fleet.store.fail(MemoryFleetStore.down)
    let lost = "the store of the shared cache shop is lost, and nothing is shared"
    #expect(fleetTexts(try await one.settledGet("https://example.com/b")) == [lost])
    #expect(try await explanation(one).contains("; shared as shop; the store is lost\n"))
    // It is a cache of one instance now.
    for path in ["a", "b"] { #expect(try await one.get("https://example.com/\(path)").outcome == .hit) }
    for number in 0..<5 {
      fleet.clock.advance(by: .seconds(1))
      #expect(fleetTexts(try await one.settledGet("https://example.com/\(number)")) == [])
    }
    #expect(fleet.log.all == ["warning: \(lost): unreachable: the store is down"])
    fleet.store.fail(nil)
    fleet.clock.advance(by: .seconds(60))
    let back = "the store of the shared cache shop is back"
    #expect(fleetTexts(try await one.settledGet()) == [back])
    #expect(fleet.log.all.dropFirst() == ["notice: \(back)"])
    #expect(fleetTexts(try await one.settledGet()) == [])
    let changes = fleet.metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(Set(changes.compactMap { $0.dimensions.last?.1 }) == ["store_lost", "store_back"])
  }

  @Test("A loss and a return between two calls are both in the ledger of the second one")
  func lossBetweenCalls() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    try await one.settledGet()
    for failure in [MemoryFleetStore.down, nil] {
      fleet.store.fail(failure)
      fleet.clock.advance(by: .seconds(60))
      try await one.cache.remove("https://example.com/a")
      await one.shared?.settled()
    }
    #expect(
      fleetTexts(try await one.settledGet()) == [
        "the store of the shared cache shop is lost, and nothing is shared",
        "the store of the shared cache shop is back",
      ])
    #expect(fleetTexts(try await one.settledGet()) == [])
  }

  @Test("A full store fails no call, is reported once, and is still read")
  func full() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet()
    try await two.settledGet("https://example.com/b")
    fleet.store.refuseChanges(CacheFleet.full)
    #expect(try await two.settledGet().outcome == .hit)
    for number in 0..<5 {
      fleet.clock.advance(by: .seconds(1))
      #expect(try await one.settledGet("https://example.com/\(number)").outcome == .missed)
      #expect(try await one.settledGet("https://example.com/\(number)").outcome == .hit)
    }
    #expect(try await explanation(one).contains("; shared as shop; the store refuses changes\n"))
    let lost = "the store of the shared cache shop refuses changes, and new responses are not shared"
    #expect(fleet.log.all == ["warning: \(lost): refused: the store is full"])
    fleet.store.refuseChanges(nil)
    fleet.clock.advance(by: .seconds(60))
    try await one.settledGet("https://example.com/c")
    #expect(fleet.log.all.count == 2 && fleet.log.all.last?.hasPrefix("notice:") ?? false)
    #expect(try await two.settledGet("https://example.com/c").outcome == .hit)
  }

  @Test("A store that hangs delays one request by half a second, and the next ones not at all")
  func hanging() async throws {
    let gate = Watched(true)
    let fleet = CacheFleet(advances: false, pause: { _ = await gate.wait { $0 } }) {
      (_, number) throws(TransportError) in
      .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance()
    try await one.settledGet()
    gate.change { $0 = false }
    let call = Task { try await one.get("https://example.com/b") }
    #expect(await eventually { fleet.clock.nextLimit == fleet.clock.now + .milliseconds(500) })
    fleet.clock.advance(by: .milliseconds(500))
    #expect(try await call.value.outcome == .missed)
    #expect(try await one.get("https://example.com/c").outcome == .missed)
    #expect(try await one.get("https://example.com/a").outcome == .hit)
    try await one.cache.remove("https://example.com/a")
    #expect(try await one.get("https://example.com/a").outcome == .missed)
    gate.change { $0 = true }
    await one.shared?.settled()
  }

  @Test("A store that hangs counts as lost, also if every request leaves earlier because of its deadline")
  func hurried() async throws {
    let gate = Watched(true)
    let fleet = CacheFleet(advances: false, pause: { _ = await gate.wait { $0 } }) {
      (_, number) throws(TransportError) in
      .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance()
    try await one.settledGet()
    gate.change { $0 = false }
    let timeouts = try Timeouts(total: .milliseconds(600))
    let call = Task { try await one.get("https://example.com/b") { $0.timeouts = timeouts } }
    #expect(await eventually { fleet.clock.nextLimit == fleet.clock.now + .milliseconds(300) })
    fleet.clock.advance(by: .milliseconds(300))
    #expect(try await call.value.outcome == .missed)
    let isLost = await eventually {
      fleet.clock.advance(by: .milliseconds(100))
      return fleet.log.all.count == 1
    }
    #expect(isLost && fleet.log.all.first?.contains("longer than 500 ms") ?? false)
    gate.change { $0 = true }
    await one.shared?.settled()
  }

  @Test("A removal while the store is lost holds here at once, and for others when this instance reaches it again")
  func removals() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    try await one.settledGet()
    try await one.settledGet("https://example.com/b")
    fleet.store.fail(MemoryFleetStore.down)
    try await one.cache.remove("https://example.com/a")
    #expect(try await one.settledGet().body == "body 2")
    #expect(try await one.get().outcome == .hit)
    fleet.store.fail(nil)
    fleet.clock.advance(by: .seconds(61))
    #expect(try await one.settledGet().body == "body 3")
    #expect(try await fleet.instance().get().body == "body 3")
    fleet.store.fail(MemoryFleetStore.down)
    await one.cache.removeAll()
    fleet.store.fail(nil)
    fleet.clock.advance(by: .seconds(40))
    #expect(try await one.settledGet("https://example.com/b").outcome == .missed)
    #expect(try await fleet.instance().get().outcome == .missed)
  }

  @Test("A store that has lost its data or holds garbage has no responses, and gets new ones")
  func garbage() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    for principal in [nil, "ann"] { try await one.settledGet { $0.principal = principal } }
    // The number of the cache is the only value of 37 bytes.
    for keepsNumber in [true, false] {
      for key in fleet.store.keys where !keepsNumber || fleet.store.value(of: key)?.count != 37 {
        fleet.store.put([1, 2, 3], for: key)
      }
      let two = try fleet.instance()
      for principal in [nil, "ann"] {
        #expect(try await two.settledGet { $0.principal = principal }.outcome == .missed)
        #expect(try await fleet.instance().get { $0.principal = principal }.outcome == .hit)
      }
    }
    fleet.store.removeAll()
    for principal in [nil, "ann"] {
      #expect(try await fleet.instance().settledGet { $0.principal = principal }.outcome == .missed)
      #expect(try await fleet.instance().get { $0.principal = principal }.outcome == .hit)
    }
    #expect(fleet.log.all == [])
  }

  @Test("A change whose response is lost does not count as stored, and harms nothing")
  func lostResponses() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    try await one.settledGet("https://example.com/b")
    fleet.store.loseResponses(1)
    #expect(try await one.settledGet().outcome == .missed)
    #expect(try await one.get().outcome == .hit)
    fleet.clock.advance(by: .seconds(30))
    let two = try fleet.instance()
    #expect(try await two.settledGet().status == 200)
  }
}
