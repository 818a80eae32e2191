// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Concurrent equal requests share a transfer", .timeLimit(.minutes(15)))
struct EqualRequestsTests {
  /// A world whose origin responds once the test opens the gate.
  struct Held {
    let gate = Watched(false)
    let world: CacheWorld

    init(_ fields: HTTPFields = [.cacheControl: "max-age=60"], policy: HTTPCachePolicy = HTTPCachePolicy()) {
      let gate = gate
      world = CacheWorld(policy: policy) { (request, number) throws(TransportError) in
        guard await gate.wait(until: { $0 }) else { throw .cancelled(requestSent: true) }
        return .answer(200, fields: fields, body: "body \(number)")
      }
    }

    func open() { gate.change { $0 = true } }
  }

  @Test("Two hundred equal requests are one transfer")
  func many() async throws {
    let held = Held()
    let bodies = try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<200 { group.addTask { try await held.world.get() } }
      #expect(await eventually { held.world.transfers == 1 })
      held.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(bodies.count == 200 && bodies.allSatisfy { $0.body == "body 0" })
    #expect(held.world.transfers == 1)
    #expect(bodies.count { $0.outcome == .missed && $0.report?.isCollapsed == false } == 1)
  }

  @Test("Requests whose response is not stored run concurrently, not one after another")
  func notShareable() async throws {
    let held = Held([.cacheControl: "no-store"])
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<200 { group.addTask { try await held.world.get() } }
      #expect(await eventually { held.world.transfers == 1 })
      held.open()
      for try await got in group { #expect(got.status == 200) }
    }
    #expect(held.world.transfers == 200)
    // The cache now knows that the key's responses are not shared: the next requests do not wait for the first of them.
    held.gate.change { $0 = false }
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<5 { group.addTask { try await held.world.get() } }
      #expect(await eventually { held.world.transfers == 205 })
      held.open()
      for try await got in group { #expect(got.report?.isCollapsed == false) }
    }
    // The cache remembers that for a minute only.
    held.world.clock.advance(by: .seconds(61))
    held.gate.change { $0 = false }
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<5 { group.addTask { try await held.world.get() } }
      #expect(await eventually { held.world.transfers == 206 })
      #expect(await valueAtRest { held.world.transfers } == 206)
      held.open()
      try await group.waitForAll()
    }
  }

  @Test("Cancelling the first request affects no other, and the last cancelled waiter ends the transfer")
  func cancelledLeader() async throws {
    let held = Held()
    let leader = Task { try await held.world.get() }
    #expect(await eventually { held.world.transfers == 1 })
    let follower = Task { try await held.world.get() }
    #expect(await eventually { held.world.cache.waiting == 2 })
    leader.cancel()
    await #expect(throws: (any Error).self) { try await leader.value }
    #expect(held.world.origin.runningRequests == 1)
    held.open()
    #expect(try await follower.value.body == "body 0")
    #expect(held.world.transfers == 1)

    let alone = Held()
    let only = Task { try await alone.world.get() }
    #expect(await eventually { alone.world.transfers == 1 })
    only.cancel()
    await #expect(throws: (any Error).self) { try await only.value }
    #expect(await eventually { alone.world.origin.runningRequests == 0 })
  }

  @Test("A follower keeps its deadline, and sends nothing when it passes")
  func deadline() async throws {
    let held = Held()
    let leader = Task { try await held.world.get() }
    #expect(await eventually { held.world.transfers == 1 })
    let follower = Task { try await held.world.get { $0.timeouts = try? Timeouts(total: .seconds(2)) } }
    #expect(await eventually { held.world.cache.waiting == 2 })
    // Two limits are pending: the leader's and the follower's.
    try await held.world.clock.waitForLimits(count: 2)
    held.world.clock.advance(by: .seconds(3))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await follower.value }
    #expect(error?.code == .totalTimeout)
    held.open()
    #expect(try await leader.value.body == "body 0")
    #expect(held.world.transfers == 1)
  }

  @Test("A follower that Vary distinguishes sends its own request")
  func vary() async throws {
    let held = Held([.cacheControl: "max-age=60", .vary: "X-Api-Key"])
    let leader = Task { try await held.world.get(fields: [.apiKey: "1"]) }
    #expect(await eventually { held.world.transfers == 1 })
    let other = Task { try await held.world.get(fields: [.apiKey: "2"]) }
    let same = Task { try await held.world.get(fields: [.apiKey: "1"]) }
    #expect(await eventually { held.world.cache.waiting == 3 })
    held.open()
    #expect(try await leader.value.body == "body 0")
    #expect(try await same.value.body == "body 0")
    #expect(try await other.value.body == "body 1")
  }

  @Test(
    "A response that must be validated before reuse goes to its own request only",
    arguments: [
      ["Cache-Control": "no-cache", "ETag": "\"x\""], ["Cache-Control": "max-age=60, no-cache"],
      ["Cache-Control": "max-age=0", "ETag": "\"x\""], ["Cache-Control": "max-age=60", "ETag": "\"x\"", "Age": "60"],
    ])
  func unvalidated(fields: [String: String]) async throws {
    let held = Held(HTTPFields(fields.map { HTTPField(name: .of($0), value: $1) }))
    let leader = Task { try await held.world.get() }
    #expect(await eventually { held.world.transfers == 1 })
    let follower = Task { try await held.world.get() }
    #expect(await eventually { held.world.cache.waiting == 2 })
    held.open()
    #expect(try await leader.value.body == "body 0")
    let got = try await follower.value
    #expect(got.body == "body 1" && got.report?.isCollapsed == false)
    #expect(held.world.transfers == 2)
  }

  @Test("If each use must be validated, each waiting request validates separately")
  func validatedEach() async throws {
    let gate = Watched(true)
    let fields: HTTPFields = [.cacheControl: "no-cache", .eTag: "\"x\""]
    let world = CacheWorld { (request, _) throws(TransportError) in
      _ = await gate.wait { $0 }
      return request.head.headerFields[.ifNoneMatch] == nil
        ? .answer(200, fields: fields, body: "old") : .answer(304, fields: fields)
    }
    try await world.get()
    gate.change { $0 = false }
    // The cache remembers for a minute only that the key's responses are not shared.
    world.clock.advance(by: .seconds(61))
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<2 { group.addTask { try await world.get() } }
      #expect(await eventually { world.transfers == 2 && world.cache.waiting == 2 })
      gate.change { $0 = true }
      for try await got in group { #expect(got.body == "old" && got.outcome == .revalidated) }
    }
    #expect(world.transfers == 3)
  }

  @Test("Requests that ask for validation share a fresh response")
  func wishedValidation() async throws {
    let held = Held()
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<5 { group.addTask { try await held.world.get { $0.cache = .revalidate } } }
      #expect(await eventually { held.world.transfers == 1 && held.world.cache.waiting == 5 })
      held.open()
      for try await got in group { #expect(got.body == "body 0") }
    }
    #expect(held.world.transfers == 1)
  }

  @Test("If the first request fails, the others send their own")
  func failure() async throws {
    let gate = Watched(false)
    let world = CacheWorld { (_, number) throws(TransportError) in
      if number > 0 { return .answer(200, body: "own") }
      _ = await gate.wait { $0 }
      throw TransportError(stage: .connect, code: .connectFailed, message: "down")
    }
    let leader = Task { try await world.get() }
    #expect(await eventually { world.transfers == 1 })
    let follower = Task { try await world.get() }
    #expect(await eventually { world.cache.waiting == 2 })
    gate.change { $0 = true }
    await #expect(throws: (any Error).self) { try await leader.value }
    #expect(try await follower.value.body == "own")
  }

  @Test("A stale response is validated once for all waiting requests")
  func validation() async throws {
    let gate = Watched(true)
    let world = CacheWorld { (request, number) throws(TransportError) in
      _ = await gate.wait { $0 }
      return request.head.headerFields[.ifNoneMatch] == nil
        ? .answer(200, fields: CachingTransportTests.fresh, body: "old")
        : .answer(304, fields: CachingTransportTests.fresh)
    }
    try await world.get()
    world.clock.advance(by: .seconds(61))
    gate.change { $0 = false }
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<20 { group.addTask { try await world.get() } }
      #expect(await eventually { world.transfers == 2 })
      gate.change { $0 = true }
      for try await got in group { #expect(got.body == "old") }
    }
    #expect(world.transfers == 2)
  }

  @Test("A request with cache directives, conditions or a range joins no other")
  func unequal() async throws {
    let held = Held()
    let fields: [HTTPFields] = [
      [:], [.cacheControl: "no-cache"], [.ifNoneMatch: "\"x\""], [.range: "bytes=0-1"], [.cacheControl: "max-age=0"],
    ]
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for fields in fields { group.addTask { try await held.world.get(fields: fields) } }
      #expect(await eventually { held.world.transfers == fields.count })
      held.open()
      try await group.waitForAll()
    }
  }

  @Test("With collapsing disabled by policy each request is sent")
  func off() async throws {
    let held = Held(policy: HTTPCachePolicy(collapsesEqualRequests: false))
    try await withThrowingTaskGroup(of: CacheWorld.Got.self) { group in
      for _ in 0..<3 { group.addTask { try await held.world.get() } }
      #expect(await eventually { held.world.transfers == 3 })
      held.open()
      try await group.waitForAll()
    }
  }
}
