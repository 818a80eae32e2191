// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The cases of http-tests/cache-tests for a private cache", .timeLimit(.minutes(5)))
struct CacheTestsTests {
  /// Required cases that do not pass, each with its reason.
  static let deviations: [String: String] = [:]

  /// Those that others rest on, or that the cache is for, and that are not required.
  static let wanted: Set<String> = [
    "freshness-none", "freshness-max-age", "freshness-expires-future", "vary-match", "vary-2-match", "vary-3-match",
    "stale-while-revalidate", "stale-close", "partial-store-complete-reuse-partial",
  ]

  @Test("of 137 required cases all but those in the table pass")
  func required() async throws {
    let tests = try CacheTestCase.all()
    var failures: [String: String] = [:]
    for test in tests {
      if let failure = await CacheTestRun.failure(of: test) {
        failures[test.id] = (failure.isSetup ? "not set up: " : "") + failure.text
      }
    }
    // A case fails with any that it depends on.
    var isChanged = true
    while isChanged {
      isChanged = false
      for test in tests where failures[test.id] == nil {
        guard let broken = test.dependencies.first(where: { failures[$0] != nil }) else { continue }
        failures[test.id] = "depends on \(broken)"
        isChanged = true
      }
    }
    let required = tests.filter { $0.kind == "required" }
    #expect(required.count == 137)
    let failed = required.filter { failures[$0.id] != nil }
    print(
      "cache-tests: \(required.count - failed.count) of \(required.count) required cases pass,",
      "\(tests.count - failures.count) of \(tests.count) in all")
    if ProcessInfo.processInfo.environment["LASTRO_CACHE_FAILURES"] != nil {
      for test in tests { if let text = failures[test.id] { print("\(test.kind) \(test.id): \(text)") } }
    }
    #expect(
      Set(failed.map(\.id)) == Set(Self.deviations.keys), "\(failed.map { "\($0.id): \(failures[$0.id] ?? "")" })")
    let missing = Self.wanted.filter { failures[$0] != nil }
    #expect(missing.isEmpty, "\(missing.map { "\($0): \(failures[$0] ?? "")" })")
    let fresh = tests.filter { $0.id.hasPrefix("status-") && $0.id.hasSuffix("-fresh") }
    #expect(fresh.count >= 13)
    for test in fresh { #expect(failures[test.id] == nil, "\(test.id): \(failures[test.id] ?? "")") }
  }
}
