// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Decision about a request by stored responses (RFC 9111 §4)")
struct CacheDecisionTests {
  /// Returns an entry whose age is 10 at the time of the tests.
  static func entry(_ control: String, _ more: String...) -> CacheEntry {
    var entry = CacheEntry.test("Date: \(HTTPDate.text(1_000))", "Cache-Control: \(control)", "ETag: \"a\"")
    for line in more {
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      entry = entry.with(parts[0], String(parts[1].dropFirst()))
    }
    return entry
  }

  static func request(
    _ lines: [String] = [], method: String = "GET", wish: CacheRequest.Wish = .none
  ) -> CacheRequest {
    CacheRequest(
      method: method,
      fields: CacheFields(
        lines.map { line in
          let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
          return CacheFields.Line(parts[0], String(parts[1].dropFirst()))
        }), wish: wish)
  }

  static func decide(_ entry: CacheEntry?, _ request: CacheRequest, _ rules: CacheRules = CacheRules())
    -> CacheDecision
  {
    CacheDecision.decide(
      request, entries: entry.map { [$0] } ?? [], matching: entry == nil ? [] : [0], now: .seconds(1_010), rules: rules)
  }

  static let validate = CacheDecision.validate(0, conditions: [.init("If-None-Match", "\"a\"")])
  static let serve = CacheDecision.serve(0, .whole)

  @Test(
    "The stored response's directives decide",
    arguments: [
      ("max-age=11", serve), ("max-age=10", validate), ("max-age=100, no-cache", validate),
      ("max-age=5, stale-while-revalidate=6", .serveAndRevalidate(0, .whole)),
      ("max-age=5, stale-while-revalidate=5", validate),
      ("max-age=5, stale-while-revalidate=60, must-revalidate", validate),
      ("max-age=5, stale-while-revalidate=60, no-cache", validate), ("max-age=100, must-revalidate", serve),
    ] as [(String, CacheDecision)])
  func answers(control: String, expected: CacheDecision) {
    #expect(Self.decide(Self.entry(control), Self.request()) == expected)
    #expect(Self.decide(Self.entry(control), Self.request(method: "HEAD")) == expected)
  }

  @Test(
    "The request's directives decide",
    arguments: [
      ("max-age=100", "Cache-Control: no-cache", validate), ("max-age=100", "Pragma: no-cache", validate),
      ("max-age=100", "Cache-Control: max-age=10", serve), ("max-age=100", "Cache-Control: max-age=9", validate),
      ("max-age=100", "Cache-Control: min-fresh=90", serve), ("max-age=100", "Cache-Control: min-fresh=91", validate),
      ("max-age=100", "Cache-Control: min-fresh=x", validate),
      ("max-age=5", "Cache-Control: max-stale", serve), ("max-age=5", "Cache-Control: max-stale=5", serve),
      ("max-age=5", "Cache-Control: max-stale=4", validate),
      ("max-age=5, must-revalidate", "Cache-Control: max-stale", validate),
      ("max-age=5, stale-while-revalidate=60", "Cache-Control: max-age=7", validate),
      ("max-age=5", "Cache-Control: only-if-cached", .unavailable),
      ("max-age=50", "Cache-Control: only-if-cached", serve),
      ("max-age=100", "Cache-Control: no-store", .forward(.bypass)),
      ("max-age=100", "If-None-Match: \"x\"", .forward(.request)),
      ("max-age=100", "If-Modified-Since: x", .forward(.request)), ("max-age=100", "If-Match: *", .forward(.request)),
      ("max-age=100", "Accept: */*", serve),
    ] as [(String, String, CacheDecision)])
  func requests(control: String, line: String, expected: CacheDecision) {
    #expect(Self.decide(Self.entry(control), Self.request([line])) == expected)
  }

  @Test(
    "The caller's cache policy decides",
    arguments: [
      ("max-age=100", .bypass, .forward(.bypass)), ("max-age=100", .reload, .forward(.request)),
      ("max-age=100", .revalidate, validate), ("max-age=100, immutable", .revalidate, serve),
      ("max-age=5, immutable", .revalidate, validate), ("max-age=5", .prefer, serve), ("max-age=5", .only, serve),
      ("max-age=5, must-revalidate", .prefer, validate), ("max-age=5, must-revalidate", .only, .unavailable),
      ("max-age=5, no-cache", .only, .unavailable),
    ] as [(String, CacheRequest.Wish, CacheDecision)])
  func wishes(control: String, wish: CacheRequest.Wish, expected: CacheDecision) {
    #expect(Self.decide(Self.entry(control), Self.request(wish: wish)) == expected)
  }

  @Test("A missing response is requested, and is unavailable if the server must not be contacted")
  func misses() {
    #expect(Self.decide(nil, Self.request()) == .forward(.uriMiss))
    #expect(Self.decide(nil, Self.request(wish: .only)) == .unavailable)
    #expect(Self.decide(nil, Self.request(method: "POST")) == .forward(.method))
    #expect(
      CacheDecision.decide(
        Self.request(), entries: [Self.entry("max-age=100")], matching: [], now: .seconds(1_010), rules: CacheRules())
        == .forward(.varyMiss))
  }

  @Test("Of several stored responses the latest serves, and the tags of all are sent")
  func several() {
    let older = Self.entry("max-age=5")
    var newer = CacheEntry.test(
      "Date: \(HTTPDate.text(1_001))", "Cache-Control: max-age=5", "ETag: \"b\"", "Last-Modified: \(HTTPDate.text(7))")
    let decision = CacheDecision.decide(
      Self.request(), entries: [older, newer], matching: [0, 1], now: .seconds(1_010), rules: CacheRules())
    #expect(
      decision
        == .validate(
          1,
          conditions: [
            .init("If-None-Match", "\"b\", \"a\""), .init("If-Modified-Since", HTTPDate.text(7)),
          ]))
    newer.fields.remove("etag")
    newer.fields.remove("last-modified")
    #expect(CacheDecision.validation(of: 1, [older, newer]) == .forward(.stale))
  }

  @Test(
    "Ranges are served from a complete body of ten bytes in its coding",
    arguments: [
      ("bytes=0-1", .serve(0, .part(0..<2))), ("bytes=6-", .serve(0, .part(6..<10))),
      ("bytes=-3", .serve(0, .part(7..<10))), ("bytes=5-100", .serve(0, .part(5..<10))),
      ("bytes=10-", .serve(0, .unsatisfiable)), ("bytes=-0", .serve(0, .unsatisfiable)),
      ("bytes=-99", .serve(0, .part(0..<10))), ("BYTES=0-0", .serve(0, .part(0..<1))),
      ("bytes=0-1,3-4", .forward(.partial)), ("lines=0-1", .forward(.partial)), ("bytes=4-1", serve),
      ("bytes", serve), ("bytes=", serve), ("bytes=a-b", serve),
      ("bytes=0-99999999999999999999", .serve(0, .part(0..<10))),
    ] as [(String, CacheDecision)])
  func ranges(value: String, expected: CacheDecision) {
    let entry = Self.entry("max-age=100")
    #expect(Self.decide(entry, Self.request(["Range: \(value)"])) == expected)
    #expect(Self.decide(entry, Self.request(["Range: \(value)"], method: "HEAD")) == Self.serve)
    var decoded = entry
    decoded.isDecoded = true
    if case .serve(_, let serving) = expected, serving != .whole {
      #expect(Self.decide(decoded, Self.request(["Range: \(value)"])) == .forward(.partial))
    }
    var missing = entry
    missing.status = 404
    #expect(Self.decide(missing, Self.request(["Range: \(value)"])) == Self.serve)
  }

  @Test(
    "If-Range is compared strongly",
    arguments: [
      ("\"a\"", true), ("\"b\"", false), ("W/\"a\"", false), (HTTPDate.text(500), true), (HTTPDate.text(501), false),
    ])
  func ifRange(condition: String, isMet: Bool) {
    let entry = Self.entry("max-age=100", "Last-Modified: \(HTTPDate.text(500))")
    let decision = Self.decide(entry, Self.request(["Range: bytes=0-1", "If-Range: \(condition)"]))
    #expect(decision == .serve(0, isMet ? .part(0..<2) : .whole))
  }

  @Test("A shared cache serves nothing stale with s-maxage or proxy-revalidate")
  func shared() {
    let rules = CacheRules(isShared: true)
    for control in ["s-maxage=5, stale-while-revalidate=60", "max-age=5, proxy-revalidate, stale-while-revalidate=60"] {
      #expect(Self.decide(Self.entry(control), Self.request(), rules) == Self.validate)
    }
    let private_ = Self.entry("max-age=5, proxy-revalidate, stale-while-revalidate=60")
    #expect(Self.decide(private_, Self.request()) == .serveAndRevalidate(0, .whole))
  }

  @Test(
    "After a server failure a stale response serves within its limits",
    arguments: [
      ("max-age=5, stale-if-error=6", false, nil, true), ("max-age=5, stale-if-error=5", false, nil, false),
      ("max-age=5, stale-if-error=60, must-revalidate", true, 100, false),
      ("max-age=5, stale-if-error=60, no-cache", true, 100, false), ("max-age=5", true, 6, true),
      ("max-age=5", true, 5, false), ("max-age=5", false, 6, false), ("max-age=5", true, nil, false),
    ] as [(String, Bool, Int?, Bool)])
  func failures(control: String, isUnreachable: Bool, window: Int?, isAllowed: Bool) {
    let rules = CacheRules(staleWhenUnreachable: window.map { .seconds($0) })
    func allows(_ request: CacheRequest) -> Bool {
      CacheReuse.isAllowed(
        afterFailureOf: request, for: Self.entry(control), isUnreachable: isUnreachable, now: .seconds(1_010), rules)
    }
    #expect(allows(Self.request()) == isAllowed)
    for control in ["no-cache", "no-store"] { #expect(!allows(Self.request(["Cache-Control: \(control)"]))) }
    for wish in [.revalidate, .reload, .bypass] as [CacheRequest.Wish] { #expect(!allows(Self.request(wish: wish))) }
  }
}
