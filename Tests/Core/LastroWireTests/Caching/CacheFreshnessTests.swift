// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

extension CacheEntry {
  /// Returns an entry that was requested at 1000 and received at 1002, with fields from lines `Name: value`.
  static func test(_ lines: String..., status: Int = 200, requested: Int = 1_000, received: Int = 1_002) -> CacheEntry {
    let fields = CacheFields(
      lines.map { line in
        let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
        return CacheFields.Line(parts[0], String(parts[1].drop { $0 == " " }))
      })
    return CacheEntry(
      status: status, fields: fields, requested: .seconds(requested), received: .seconds(received), length: 10)
  }

  func with(_ name: String, _ value: String) -> CacheEntry {
    var result = self
    result.fields.lines.append(.init(name, value))
    return result
  }
}

@Suite("Age and freshness (RFC 9111 §4.2)")
struct CacheFreshnessTests {
  static func date(_ seconds: Int64) -> String { HTTPDate.text(seconds) }

  @Test(
    "The lifetime is max-age, or Expires, or a tenth of the time since Last-Modified",
    arguments: [
      (["Cache-Control: max-age=60", "Expires: \(date(5_000))"], 60), (["Expires: \(date(1_060))"], 60),
      (["Expires: 0"], 0), (["Expires: \(date(900))"], 0), (["Expires: \(date(1_060))", "Expires: \(date(1_070))"], 0),
      (["Last-Modified: \(date(0))"], 100), (["Last-Modified: yesterday"], 0), (["Last-Modified: \(date(2_000))"], 0),
      (["Cache-Control: max-age=x", "Expires: \(date(5_000))"], 0), (["Cache-Control: s-maxage=60"], 0), ([], 0),
    ] as [([String], Int)])
  func lifetime(lines: [String], expected: Int) {
    let entry = CacheEntry.test("Date: \(Self.date(1_000))")
    let full = lines.reduce(entry) { entry, line in
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      return entry.with(parts[0], String(parts[1].dropFirst()))
    }
    #expect(full.lifetime(CacheRules()) == .seconds(expected))
  }

  @Test("Heuristic lifetimes apply to cacheable statuses or public responses, and end at 24 hours")
  func heuristics() {
    let line = "Last-Modified: \(Self.date(0))"
    for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
      #expect(
        CacheEntry.test("Date: \(Self.date(1_000))", line, status: status).lifetime(CacheRules()) == .seconds(100))
    }
    for status in [201, 202, 302, 400, 403, 500, 502, 503, 504, 599] {
      let entry = CacheEntry.test("Date: \(Self.date(1_000))", line, status: status)
      #expect(entry.lifetime(CacheRules()) == .zero)
      #expect(entry.with("Cache-Control", "public").lifetime(CacheRules()) == .seconds(100))
    }
    let old = CacheEntry.test("Date: \(Self.date(90_000_000))", line, requested: 90_000_000, received: 90_000_000)
    #expect(old.lifetime(CacheRules()) == .seconds(86_400))
    #expect(old.lifetime(CacheRules(heuristicFraction: 0)) == .zero)
  }

  @Test("A shared cache prefers s-maxage")
  func shared() {
    let entry = CacheEntry.test("Cache-Control: max-age=60, s-maxage=5")
    #expect(entry.lifetime(CacheRules(isShared: true)) == .seconds(5))
    #expect(entry.lifetime(CacheRules()) == .seconds(60))
  }

  @Test(
    "The age adds the stated age, the transfer time and the time since",
    arguments: [
      // The server's clock agrees: two seconds in transit, and eight since then.
      (["Date: \(date(1_000))"], 10), (["Date: \(date(1_000))", "Age: 100"], 110), (["Date: \(date(902))"], 108),
      (["Date: \(date(1_000))", "Age: -5"], 10), (["Date: \(date(1_000))", "Age: 7.5"], 10),
      (["Date: \(date(1_000))", "Age: abc"], 10), (["Date: \(date(1_000))", "Age: 100, 3"], 110),
      (["Date: \(date(1_000))", "Age: 100", "Age: 5"], 110), (["Date: \(date(9_000))"], 10), (["Date: never"], 10),
      (["Date: \(date(1_000))", "Age: 99999999999999999999"], Int(CacheControl.maximumSeconds) + 10),
    ] as [([String], Int)])
  func age(lines: [String], expected: Int) {
    let full = lines.reduce(CacheEntry.test()) { entry, line in
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      return entry.with(parts[0], String(parts[1].dropFirst()))
    }
    #expect(full.age(now: .seconds(1_010)) == .seconds(expected))
  }

  @Test("A response is fresh while its age is below its lifetime")
  func border() {
    let entry = CacheEntry.test("Date: \(Self.date(1_000))", "Cache-Control: max-age=10")
    #expect(CacheFreshness(of: entry, now: .seconds(1_009), rules: CacheRules()).isFresh)
    #expect(!CacheFreshness(of: entry, now: .seconds(1_010), rules: CacheRules()).isFresh)
    #expect(CacheFreshness(of: entry, now: .seconds(1_019), rules: CacheRules()).isWithin(.seconds(10)))
    #expect(!CacheFreshness(of: entry, now: .seconds(1_020), rules: CacheRules()).isWithin(.seconds(10)))
  }

  @Test("If the clock went back by more than a second nothing is fresh, and nothing stale may serve")
  func clockBack() {
    let entry = CacheEntry.test("Cache-Control: max-age=100000, stale-while-revalidate=100000")
    #expect(CacheFreshness(of: entry, now: .seconds(1_001), rules: CacheRules()).isFresh)
    let back = CacheFreshness(of: entry, now: .milliseconds(1_000_900), rules: CacheRules())
    #expect(!back.isFresh && !back.isWithin(.seconds(100_000)))
  }
}
