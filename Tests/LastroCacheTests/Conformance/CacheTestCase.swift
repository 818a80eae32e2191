// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import Foundation
import LastroSupport

/// A case of http-tests/cache-tests: requests in order, and what is expected of each.
struct CacheTestCase: Sendable {
  /// One request, and how the origin answers it.
  struct Step: Sendable {
    let values: [String: JSONValue]

    func flag(_ name: String) -> Bool { values[name] == .bool(true) }
    func text(_ name: String) -> String? { if case .string(let text)? = values[name] { text } else { nil } }
    func list(_ name: String) -> [JSONValue] { if case .array(let list)? = values[name] { list } else { [] } }
    func pairs(_ name: String) -> [[JSONValue]] {
      list(name).map { if case .array(let pair) = $0 { pair } else { [$0] } }
    }

    /// Whether a failed expectation only says that the case could not be set up.
    func isSetup(_ expectation: String) -> Bool {
      flag("setup") || list("setup_tests").contains(.string(expectation))
    }
  }

  let id: String
  let kind: String
  let dependencies: [String]
  let steps: [Step]

  private struct Suite: Decodable {
    struct Test: Decodable {
      var id: String
      var kind: String?
      var depends_on: [String]?
      var cdn_only: Bool?
      var browser_skip: Bool?
      var requests: [[String: JSONValue]]
    }

    var tests: [Test]
  }

  /// Those for a private cache.
  static func all() throws -> [CacheTestCase] {
    let suites = try JSONDecoder().decode(
      [Suite].self, from: ConformanceData.file("cache-tests/cache-tests.json"))
    return suites.flatMap(\.tests).filter { $0.cdn_only != true && $0.browser_skip != true }.map { test in
      CacheTestCase(
        id: test.id, kind: test.kind ?? "required", dependencies: test.depends_on ?? [],
        steps: test.requests.map { Step(values: $0) })
    }
  }
}

extension JSONValue {
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var int: Int64? { if case .integer(let number) = self { number } else { nil } }
}
