// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Background validation (RFC 5861 §3)", .timeLimit(.minutes(15)))
struct RevalidationTests {
  static let fields: HTTPFields = [.cacheControl: "max-age=1, stale-while-revalidate=1000", .eTag: "\"v\""]

  @Test("A stale response is served at once and validated once in the background, with the request's own fields")
  func behind() async throws {
    let gate = Watched(true)
    let world = CacheWorld { (request, number) throws(TransportError) in
      _ = await gate.wait { $0 }
      if number > 0 { #expect(request.head.headerFields[.authorization] == "ann") }
      return .answer(200, fields: Self.fields, body: "\(number)")
    }
    try await world.get(fields: [.authorization: "ann"])
    world.clock.advance(by: .seconds(10))
    gate.change { $0 = false }
    for _ in 0..<5 {
      let got = try await world.get(fields: [.authorization: "ann"])
      #expect(got.body == "0" && got.outcome == .staleServed)
    }
    #expect(await eventually { world.transfers == 2 })
    gate.change { $0 = true }
    await world.cache.finishRevalidations()
    #expect(world.transfers == 2)
    #expect(try await world.get(fields: [.authorization: "ann"]).body == "1")
    let request = world.origin.requests[1]
    #expect(request.deadline == Timeouts.standard.total && request.head.headerFields[.ifNoneMatch] == "\"v\"")
  }

  @Test("A failed validation keeps the response, and the next one is tried after five seconds")
  func failure() async throws {
    let world = CacheWorld { (_, number) throws(TransportError) in
      if number == 0 { return .answer(200, fields: Self.fields, body: "0") }
      throw TransportError(stage: .connect, code: .connectFailed, message: "down")
    }
    try await world.get()
    world.clock.advance(by: .seconds(10))
    for (advance, transfers) in [(0, 2), (4, 2), (1, 3), (0, 3)] {
      world.clock.advance(by: .seconds(advance))
      #expect(try await world.get().body == "0")
      await world.cache.finishRevalidations()
      #expect(world.transfers == transfers)
    }
  }

  @Test("At most eight validations run at a time")
  func bounded() async throws {
    let gate = Watched(true)
    let world = CacheWorld { (_, number) throws(TransportError) in
      _ = await gate.wait { $0 }
      return .answer(200, fields: Self.fields, body: "\(number)")
    }
    for path in 0..<12 { try await world.get("https://example.com/\(path)") }
    world.clock.advance(by: .seconds(10))
    gate.change { $0 = false }
    for path in 0..<12 { try await world.get("https://example.com/\(path)") }
    #expect(await eventually { world.transfers == 20 })
    #expect(await valueAtRest { world.transfers } == 20)
    gate.change { $0 = true }
    await world.cache.finishRevalidations()
  }

  @Test("After shutDown no validation starts, running ones are cancelled, and responses continue")
  func shutDown() async throws {
    let gate = Watched(true)
    let world = CacheWorld { (_, number) throws(TransportError) in
      guard await gate.wait(until: { $0 }) else { throw .cancelled(requestSent: true) }
      return .answer(200, fields: Self.fields, body: "\(number)")
    }
    try await world.get()
    world.clock.advance(by: .seconds(10))
    gate.change { $0 = false }
    try await world.get()
    #expect(await eventually { world.transfers == 2 })
    world.cache.shutDown()
    await world.cache.finishRevalidations()
    #expect(world.origin.runningRequests == 0)
    #expect(try await world.get().body == "0")
    #expect(await valueAtRest { world.transfers } == 2)
  }
}
