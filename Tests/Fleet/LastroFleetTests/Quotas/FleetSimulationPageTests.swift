// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Page of the simulations: a fleet", .ownThread)
struct FleetSimulationPageTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Docs/Simulation.md")
  /// The beginning of the section. The page before it is made by the tests of `LastroResilience`.
  private static let title = "\n## A fleet\n"

  private static func section() throws -> String {
    let fractions = try QuotaSimulation.fractions.get(), waiting = try QuotaSimulation.waiting.get()
    let large = try QuotaSimulation.large.get()
    func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }
    let rows = zip(QuotaSimulation.phases, zip(fractions.shares, waiting.shares)).map { phase, shares in
      "| \(phase.name) | \(percent(shares.0)) | \(percent(shares.1)) |"
    }
    return title + """

      \(QuotaSimulation.instances) instances share a quota of \(Int(QuotaSimulation.perSecond)) requests a second with a burst of \
      \(QuotaSimulation.burst) (`Pacer.shared` of `LastroFleet`). Half of them send as much as
      they may; the others send one request in four seconds. The figures are requests that the server received, as a
      share of the quota. Time, requests and the operations of the store are simulated; the decisions are those of the
      product. `Tests/Fleet/LastroFleetTests/Quotas` asserts the figures.

      | situation | `.fraction(of: \(QuotaSimulation.instances))` | `.wait` |
      |---|---|---|
      \(rows.joined(separator: "\n"))

      With fractions, each instance that does not reach the store keeps its hundredth, and the others cannot use it. When
      the store is down, each has its hundredth alone. In no period was more sent than the pace allows, plus
      \(Int(fractions.excess.rounded(.up))) requests with fractions and \(Int(waiting.excess.rounded(.up))) without; \
      the burst is \(QuotaSimulation.burst).

      If units are lent, an exchange with the store costs two round trips. Ten instances with 500 requests a second, half
      of which lend about 120 units at once, send \(large.requests / large.trips) requests for each round trip.

      """
  }

  @Test("The section equals the simulations' results; LASTRO_RENEW=1 rewrites it")
  func page() throws {
    let page = try String(contentsOf: Self.file, encoding: .utf8)
    let others = page.components(separatedBy: Self.title)[0]
    let section = try Self.section()
    if ProcessInfo.processInfo.environment["LASTRO_RENEW"] == "1" {
      try Data((others + section).utf8).write(to: Self.file)
      return
    }
    #expect(page == others + section, "make simulation rewrites it")
  }
}
