// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import Foundation
import Lastro
import LastroSupport
import LastroWire
import Testing

@testable import LastroEveryday

/// The cases of abarth/http-state, which were made for RFC 6265 (2011).
///
/// The licence of its parser cases does not allow a copy here. They are read from `../shared` if that exists, and are
/// skipped otherwise.
@Suite("Conformance: http-state", .timeLimit(.minutes(15)))
struct HTTPStateTests {
  struct Case: Decodable {
    struct Pair: Decodable {
      var name: String
      var value: String
    }

    var test: String
    var received: [String]
    var sent: [Pair]
    var sentTo: String?

    enum CodingKeys: String, CodingKey {
      case test, received, sent
      case sentTo = "sent-to"
    }
  }

  struct DateCase: Decodable {
    var test: String
    var expected: String?
  }

  /// Cases in which the jar deviates from the suite, each with its reason.
  private static let deviations = [
    "OPTIONAL_DOMAIN0042": "an empty Domain counts as absent, and the last of a name counts",
    "DISABLED_CHROMIUM0022": "a NUL refuses the line, and does not end the value",
    "DISABLED_CHROMIUM0023": "a CR refuses the line, and does not end the value",
    "DISABLED_PATH0029": "paths are compared byte for byte, without percent-decoding",
  ]

  private static let base = "http://home.example.org:8888"

  private static func outcome(of one: Case) throws -> String {
    // The suite's dates lie before and after 2011, so the jar's clock is set to the start of that year.
    let jar = TestJar(at: 1_293_840_000)
    try jar.jar.receive(one.received, from: base + "/cookie-parser?" + one.test.lowercased())
    let target = one.sentTo ?? "/cookie-parser-result?" + one.test.lowercased()
    return try jar.sent(to: target.hasPrefix("/") ? base + target : target)
  }

  @Test(
    "Every case passes, except the four named",
    .enabled(if: ConformanceData.sharedFile("http-state/parser.json") != nil))
  func cases() throws {
    let data = try #require(ConformanceData.sharedFile("http-state/parser.json"))
    let cases = try JSONDecoder().decode([Case].self, from: data)
    #expect(cases.count == 222)
    var differing: Set<String> = []
    for one in cases {
      let expected = one.sent.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
      if try Self.outcome(of: one) != expected { differing.insert(one.test) }
    }
    #expect(differing == Set(Self.deviations.keys))
  }

  @Test("Each BSD date example yields its listed date")
  func bsdDates() throws {
    let cases = try Self.dateCases(ConformanceData.file("http-state/dates-bsd-examples.json"))
    #expect(cases.count == 55)
    for one in cases { Self.check(one) }
  }

  @Test(
    "The other dates are parsed as expected",
    .enabled(if: ConformanceData.sharedFile("http-state/dates-examples.json") != nil))
  func otherDates() throws {
    let cases = try Self.dateCases(try #require(ConformanceData.sharedFile("http-state/dates-examples.json")))
    #expect(cases.count == 15)
    for one in cases { Self.check(one) }
  }

  private static func check(_ one: DateCase) {
    let expected = one.expected.flatMap { HTTPDate.seconds($0, now: 0) }
    #expect((one.expected == nil) == (expected == nil))
    #expect(CookieDate.seconds(one.test.utf8) == expected, "\(one.test)")
  }

  /// Decodes the date cases, without the comment lines in front of the array.
  private static func dateCases(_ data: Data) throws -> [DateCase] {
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("//") }
    return try JSONDecoder().decode([DateCase].self, from: Data(lines.joined(separator: "\n").utf8))
  }
}
