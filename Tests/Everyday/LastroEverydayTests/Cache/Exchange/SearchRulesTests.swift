// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("No-Vary-Search, if the policy supports it", .timeLimit(.minutes(15)))
struct SearchRulesTests {
  static let policy = HTTPCachePolicy(readsNoVarySearch: true)
  static let ignoring: HTTPFields = [.cacheControl: "max-age=60", .noVarySearch: "params=(\"utm\")"]

  static func url(_ query: String) -> String { "https://example.com/a?\(query)" }

  @Test("Ignored query items share a response once the rule is known; without the policy the whole query counts")
  func hits() async throws {
    let world = CacheWorld(policy: Self.policy, Self.ignoring)
    for (query, transfers) in [("x=1&utm=1", 1), ("x=1&utm=2", 2), ("x=1", 2), ("utm=3&x=1", 2), ("x=2&utm=1", 3)] {
      try await world.get(Self.url(query))
      #expect(world.transfers == transfers, "\(query)")
    }
    let exact = CacheWorld(Self.ignoring)
    for query in ["x=1", "x=1&utm=1"] { #expect(try await exact.get(Self.url(query)).outcome == .missed) }
    #expect(try await exact.get(Self.url("x=1")).outcome == .hit)
  }

  @Test("A change of any equivalent URL invalidates stored responses, also by earlier rules")
  func changes() async throws {
    let rule = Lock("params=(\"utm\")")
    let world = CacheWorld(policy: Self.policy) { (_, number) throws(TransportError) in
      .answer(
        200, fields: [.cacheControl: "max-age=60", .noVarySearch: rule.withLock { $0 }], body: "\(number)")
    }
    func learn(_ text: String, _ path: String) async throws {
      rule.withLock { $0 = text }
      try await world.get(Self.url(path)) { $0.cache = .reload }
    }
    try await learn("params=(\"utm\")", "x=1")
    let kept = try await world.get(Self.url("x=1&utm=1")).body
    #expect(try await world.get(Self.url("x=1&utm=2")).body == kept)
    // Learn another rule, change a URL, then learn the first rule again.
    try await learn("params=(\"other\")", "x=3")
    try await world.get(Self.url("x=1&utm=9"), method: .put)
    try await learn("params=(\"utm\")", "x=4")
    #expect(try await world.get(Self.url("x=1&utm=2")).outcome == .missed)
    let again = try await world.get(Self.url("x=1"))
    #expect(again.outcome == .hit)
    try await world.cache.remove(Self.url("utm=5&x=1"))
    #expect(try await world.get(Self.url("x=1")).outcome == .missed)
  }

  @Test("A request joins a flight whose response has another rule only if its URL is equal")
  func flights() async throws {
    let gate = Watched(true)
    let isIgnoring = Lock(true)
    let world = CacheWorld(policy: Self.policy) { (request, _) throws(TransportError) in
      _ = await gate.wait { $0 }
      let fields = isIgnoring.withLock { $0 } ? Self.ignoring : [.cacheControl: "max-age=60"]
      return .answer(200, fields: fields, body: request.head.path ?? "")
    }
    try await world.get(Self.url("x=0"))
    gate.change { $0 = false }
    isIgnoring.withLock { $0 = false }
    async let one = world.get(Self.url("x=1&utm=1"))
    #expect(await eventually { world.transfers == 2 })
    async let other = world.get(Self.url("x=1&utm=2"))
    #expect(await eventually { world.cache.waiting == 2 })
    gate.change { $0 = true }
    #expect(try await one.body == "/a?x=1&utm=1")
    #expect(try await other.body == "/a?x=1&utm=2")
  }
}

extension HTTPField.Name {
  static let noVarySearch = Self.of("No-Vary-Search")
}
