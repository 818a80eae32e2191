// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Eviction of cookies")
struct CookieEvictionTests {
  private static let now = Date(timeIntervalSince1970: TestJar.epoch)

  private static func shelf(_ rules: CookieRules = .standard) -> CookieShelf { CookieShelf(rules, TestJar.suffixes) }

  @Test("The steps to evict from a full jar hardly grow with its size", arguments: [true, false])
  func stepsOfEviction(hasOneDomain: Bool) {
    var shelf = Self.shelf()
    let count = 20_000
    for number in 0..<count {
      shelf.put(
        Cookie(
          "n\(number)", "1", domain: hasOneDomain ? "a.com" : "d\(number).com", isSecure: number.isMultiple(of: 3),
          expiry: Self.now + Double(number % 1_000) + 10), now: Self.now)
    }
    #expect(shelf.count == (hasOneDomain ? 180 : 3_000))
    // Searching all cookies for each eviction would take 180 or 3,000 steps per cookie.
    #expect(shelf.steps / count < 100, "\(shelf.steps) steps")
  }

  @Test("Sending a cookie often does not grow the eviction order")
  func stepsOfUse() throws {
    var shelf = Self.shelf()
    shelf.put(Cookie("a", "1", domain: "a.com", expiry: Self.now + 1_000), now: Self.now)
    for _ in 0..<20_000 { shelf.recordUse(of: shelf.entries, now: Self.now) }
    #expect(shelf.count == 1 && shelf.steps / 20_000 < 100, "\(shelf.steps) steps")
    #expect(shelf.pairs < 500, "\(shelf.pairs) pairs")
  }

  @Test("Setting a cookie often with the same expiry does not grow the eviction order")
  func stepsOfSetting() throws {
    var shelf = Self.shelf()
    for _ in 0..<5_000 {
      shelf.put(Cookie("a", "1", domain: "a.com", expiry: Self.now + 1_000), now: Self.now)
    }
    #expect(shelf.count == 1 && shelf.steps / 5_000 < 100, "\(shelf.steps) steps")
  }

  /// A model of a jar's rules that looks at every cookie.
  private struct Model {
    var kept: [(cookie: Cookie, order: Int, use: Int)] = []
    var orders = 0
    var uses = 0

    mutating func put(_ cookie: Cookie, now: Date, limit: Int) {
      uses += 1
      orders += 1
      if let index = kept.firstIndex(where: { $0.cookie.name == cookie.name && $0.cookie.domain == cookie.domain }) {
        kept[index] = (cookie, kept[index].order, uses)
      } else {
        kept.append((cookie, orders, uses))
      }
      let ofDomain = kept.filter { $0.cookie.domain == cookie.domain }
      guard ofDomain.count > limit else { return }
      let expired = Set(ofDomain.filter { $0.cookie.hasExpired(now) }.map(\.order))
      if !expired.isEmpty { return kept.removeAll { expired.contains($0.order) } }
      let insecure = ofDomain.filter { !$0.cookie.isSecure }
      let oldest = (insecure.isEmpty ? ofDomain : insecure).min { ($0.use, $0.order) < ($1.use, $1.order) }
      kept.removeAll { $0.order == oldest?.order }
    }

    mutating func use(_ orders: Set<Int>) {
      uses += 1
      for index in kept.indices where orders.contains(kept[index].order) { kept[index].use = uses }
    }
  }

  @Test("The same cookies are kept as with a search through all of them")
  func model() throws {
    let rules = CookieRules(maximumCookiesPerDomain: 50)
    for seed in SeedStride.some(of: Array(0..<40 as Range<UInt64>)) {
      var generator = SeededGenerator(seed: seed)
      var (shelf, model, now) = (Self.shelf(rules), Model(), Self.now)
      for _ in 0..<600 {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: now += Double.random(in: 0...20, using: &generator)
        case 1:
          let used = shelf.entries.filter { _ in Int.random(in: 0..<20, using: &generator) == 0 }
          shelf.recordUse(of: used, now: now)
          model.use(Set(used.map(\.order)))
        default:
          let lasts = Int.random(in: 0..<4, using: &generator)
          let cookie = Cookie(
            "n\(Int.random(in: 0..<90, using: &generator))", "1",
            domain: Bool.random(using: &generator) ? "a.com" : "b.com",
            isSecure: Int.random(in: 0..<3, using: &generator) > 0,
            expiry: lasts == 0 ? now + Double.random(in: 1...60, using: &generator) : nil)
          shelf.put(cookie, now: now)
          model.put(cookie, now: now, limit: 50)
        }
        #expect(shelf.count == model.kept.count)
      }
      let names = { (entries: [(Cookie, Int)]) in
        entries.sorted { $0.1 < $1.1 }.map { "\($0.0.name) \($0.0.domain) \($0.0.isSecure)" }
      }
      let ours = names(shelf.entries.map { ($0.cookie, $0.order) })
      #expect(ours == names(model.kept.map { ($0.cookie, $0.order) }), "seed \(seed)")
    }
  }

  @Test("An outdated entry is never the lowest, and equal ranks are ordered by identifier")
  func ranking() {
    var ranking = Ranking<Int>()
    var current: [Int: Int] = [:]
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<5_000 {
      let (id, rank) = (Int.random(in: 0..<60, using: &generator), Int.random(in: 0..<40, using: &generator))
      current[id] = rank
      ranking.push(rank, id, limit: current.count) { current[$0.id] == $0.rank }
      let lowest = ranking.lowest { current[$0.id] == $0.rank }
      let expected = current.min { ($0.value, $0.key) < ($1.value, $1.key) }
      #expect(lowest?.id == expected?.key && lowest?.rank == expected?.value)
    }
  }
}
