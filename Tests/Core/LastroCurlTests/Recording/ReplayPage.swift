// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

/// The page `Docs/Replays.md`, which lists the suites whose calls are replayed.
struct ReplayPage {
  /// A row: the number of tests that make calls, the least number of calls of all their cases, and the reasons for which
  /// transfers may get their recorded outcome.
  struct Row: Equatable {
    var tests: Int
    var calls: Int
    var omissions: Set<ReplayOmission>
  }

  static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  let text: String
  /// The rows by the names of the suites.
  let rows: [String: Row]

  init() throws {
    text = try String(contentsOf: Self.repository.appending(path: "Docs/Replays.md"), encoding: .utf8)
    var rows: [String: Row] = [:]
    for match in text.matches(of: /(?m)^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| (.*) \|$/) {
      let words = match.4.split(separator: ", ").map(String.init)
      let omissions = ReplayOmission.allCases.filter { words.contains($0.text) }
      try #require(omissions.count == words.count, "the row of \(match.1) names unknown reasons")
      try #require(rows[String(match.1)] == nil, "\(match.1) has two rows")
      rows[String(match.1)] = Row(
        tests: try #require(Self.number(match.2)), calls: try #require(Self.number(match.3)), omissions: Set(omissions))
    }
    self.rows = rows
  }

  static func number(_ text: Substring) -> Int? { Int(text.replacing(",", with: "")) }

  /// Asserts that the row of a suite that has run is true. A run of some of the tests has fewer of them, and of some of
  /// the cases fewer calls.
  static func check(suite: Test) throws {
    guard let name = suite.id.nameComponents.first, let row = try ReplayPage().rows[name] else { return }
    let tally = RecordedScenario.tally(of: name)
    let words = ReplayOmission.allCases.filter { tally.omissions.contains($0) }.map(\.text)
    let found: Comment =
      "found: | `\(name)` | \(tally.tests.count) | \(tally.calls) | \(words.joined(separator: ", ")) |"
    #expect(tally.omissions.isSubset(of: row.omissions), found)
    let isWhole = !CommandLine.arguments.contains { $0 == "--filter" || $0 == "--skip" }
    if isWhole { #expect(tally.tests.count == row.tests, found) }
    if isWhole, SeedStride.value == 1 { #expect(tally.calls >= row.calls, found) }
  }
}

@Suite("Page of the replays")
struct ReplayPageTests {
  @Test("The page lists the suites whose calls are replayed, with their sums, and the fault suites that are not")
  func suites() throws {
    let page = try ReplayPage()
    let folder = ReplayPage.repository.appending(path: "Tests/Core/LastroCurlTests")
    let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    var suites: Set<String> = [], rest: Set<String> = []
    for case let file as URL in files where file.pathExtension == "swift" {
      let source = try String(contentsOf: file, encoding: .utf8)
      for match in source.matches(of: /[@]Suite\(([^\n]*)\)\n(?:private )?struct (\w+)/) {
        let name = String(match.2), isRecorded = match.1.contains(".overEachLink") || match.1.contains(".replayed")
        if isRecorded, page.rows[name] != nil {
          suites.insert(name)
        } else if isRecorded || match.1.contains("\"Faults: ") {
          rest.insert(name)
        }
      }
    }
    #expect(!suites.isEmpty && suites == Set(page.rows.keys))
    // The other fault suites are named with their reasons.
    for name in rest {
      #expect(page.text.contains("- `\(name)`"), "\(name) is not replayed, and the page says nothing")
    }
    let sums = try #require(page.text.firstMatch(of: /([\d,]+) suites, ([\d,]+) tests, ([\d,]+) calls/))
    #expect(ReplayPage.number(sums.1) == page.rows.count)
    #expect(ReplayPage.number(sums.2) == page.rows.values.map(\.tests).reduce(0, +))
    #expect(ReplayPage.number(sums.3) == page.rows.values.map(\.calls).reduce(0, +))
  }
}
