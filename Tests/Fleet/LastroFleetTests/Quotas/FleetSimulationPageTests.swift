// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@Suite("Page of the simulations: a fleet", .ownThread, .timeLimit(.minutes(30)))
struct FleetSimulationPageTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Docs/Simulation.md")
  /// The beginning of the section. The page before it is made by the tests of `LastroResilience`.
  private static let title = "\n## A fleet\n"

  private static func section() async throws -> String {
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

      """ + "\n" + (try await verdicts()) + "\n" + (try await cache())
  }

  private static func verdicts() async throws -> String {
    let all = try await VerdictSimulation.all.value
    func seconds(_ time: Double) -> String { String(format: "%.1f s", time) }
    let rows = all.dropLast().map { figures in
      let cells = [
        figures.setting.name, "\(figures.failed)", String(format: "%.1f", figures.probes),
        seconds(figures.longestOff.inSeconds), seconds(figures.halfRecovered), seconds(figures.recovered),
      ]
      return "| \(cells.joined(separator: " | ")) |"
    }
    let outage = VerdictSimulation.outage, refused = all.last?.refused ?? 0
    return """
      \(VerdictSimulation.instances) instances with standard breakers, of which every tenth makes ten calls a second and the others one, call a server that responds with 503 for
      \(Int((outage.upperBound - outage.lowerBound).inSeconds)) s (`CircuitBreaker.shared`). Whole stacks run over a simulated network. The table shows the failed requests
      before the circuits of their instances opened; the requests to the failing server afterwards; the longest time in
      which all calls of an instance were refused; and the time until half of the instances, and all of them, have
      succeeded again.

      | breakers | failed requests | probes in 5 s | longest off | half are back after | all are back after |
      |---|---|---|---|---|---|
      \(rows.joined(separator: "\n"))

      Before the outage, an instance makes one round trip to the store in \(seconds(1 / all[1].trips)). If the server fails for one
      instance alone, \(refused) calls of the others are refused.

      """
  }

  private static func cache() async throws -> String {
    let all = try await SharedCacheSimulation.all.value
    let rows = all.map { figures in
      let cells = [
        figures.setting.name, "\(figures.requests)", "\(figures.atOnce)", "\(figures.failures)",
        figures.setting.isShared ? String(format: "%.2f", figures.trips) : "–",
      ]
      return "| \(cells.joined(separator: " | ")) |"
    }
    return """
      \(SharedCacheSimulation.instances) instances request one resource every second for \(SharedCacheSimulation.seconds) s. The server takes 100 ms, and its response is fresh
      for ten seconds (`HTTPCache.shared`). The table shows the requests that the server received, the most that it received
      within 100 ms, the calls that failed, and the round trips to the store for each call.

      | caches | requests | at once | failed calls | round trips per call |
      |---|---|---|---|---|
      \(rows.joined(separator: "\n"))

      """
  }

  @Test("The section equals the simulations' results; LASTRO_RENEW=1 rewrites it")
  func page() async throws {
    let page = try String(contentsOf: Self.file, encoding: .utf8)
    let others = page.components(separatedBy: Self.title)[0]
    let section = try await Self.section()
    if ProcessInfo.processInfo.environment["LASTRO_RENEW"] == "1" {
      try Data((others + section).utf8).write(to: Self.file)
      return
    }
    #expect(page == others + section, "make simulation rewrites it")
  }
}
