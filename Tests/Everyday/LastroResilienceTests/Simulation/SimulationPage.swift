// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro

/// The page `Docs/Simulation.md` and its plots, made from the simulations beside this file.
enum SimulationPage {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "Docs")

  /// Returns the page, and the plots by their names.
  static func make() async throws -> (page: String, plots: [String: String]) {
    var page = """
      # Resilience, simulated

      This page shows what each mechanism of `LastroResilience` does when servers fail, compared with the settings of
      Polly 8 (as .NET's standard handlers set it) and of resilience4j. The scenarios are simulations
      ([`LastroSimulation`](LastroSimulation.docc/Simulating.md)): whole stacks send requests through Lastro's engine to
      simulated servers over HTTP/2, in virtual time and with seeds, so every run gives the same figures. The settings
      of Polly and resilience4j run on Lastro's mechanisms too, which differ from the originals in details: for example,
      a half-open circuit of Lastro reopens after the first failure. `make simulation` writes this page, and the tests
      of `Tests/Everyday/LastroResilienceTests/Simulation` assert its figures.

      """
    var plots: [String: String] = [:]
    let sections = [
      try await overload(), try await outage(), try await slowPeer(), try await replica(), try await storm(),
      try await discovery(),
    ]
    page += summary(sections.flatMap(\.measures))
    for section in sections {
      page += "\n## \(section.title)\n\n\(section.text)\n\n" + section.table.joined(separator: "\n") + "\n"
      for (plot, caption) in section.plots {
        plots[plot.name] = plot.svg
        page += "\n![\(caption)](Simulation/\(plot.name).svg)\n"
      }
    }
    return (page, plots)
  }

  /// A measure without any mechanism, with the settings of Polly and resilience4j, and with Lastro's.
  private struct Measure {
    var name: String
    var values: [String]

    /// - Parameter values: the values without a mechanism, of Polly, of resilience4j and of Lastro; only the first and
    ///   the last if Lastro alone has the mechanism.
    init(_ name: String, _ values: [String]) {
      self.name = name
      let same = "same as none"
      self.values = values.count == 2 ? [values[0], same, same, values[1]] : Array(values.prefix(4))
    }
  }

  private static func summary(_ measures: [Measure]) -> String {
    let rows = measures.map { "| \($0.name) | \($0.values.joined(separator: " | ")) |" }.joined(separator: "\n")
    return """

      ## Summary

      | | none | Polly 8 | resilience4j | Lastro |
      |---|---|---|---|---|
      \(rows)

      The settings are the published defaults of each library. Polly 8 (`CircuitBreakerStrategyOptions` as in its
      documentation, and `HttpStandardResilienceOptions` of Microsoft.Extensions.Http.Resilience): a circuit opens for
      5 s at a failure ratio of 0.1 of at least 100 calls in 30 s, with one probe; 1000 permits; 3 retries, 2 s
      exponential with jitter; a hedge after 2 s. resilience4j (`CircuitBreakerConfig`, `BulkheadConfig`,
      `RetryConfig`): a circuit opens for 60 s if 50 % of the last 100 calls fail, with 10 probes; 25 permits; 2
      retries after 500 ms.

      """
  }

  private struct Section {
    var title: String
    var text: String
    var table: [String]
    var plots: [(plot: Plot, caption: String)]
    var measures: [Measure]
  }

  private static func number(_ value: Double, _ digits: Int = 0) -> String {
    value.isFinite ? String(format: "%.\(digits)f", value) : "never"
  }

  private static func milliseconds(_ seconds: Double) -> String { number(seconds * 1000) + " ms" }

  private static func overload() async throws -> Section {
    var table = ["| limiter | goodput, share of capacity | p99 of served requests |", "|---|---|---|"]
    var goodput: [(String, [Double])] = []
    var latency: [(String, [Double])] = []
    var shares: [String] = []
    for (setting, outcome) in try await Overload.outcomes.value {
      let name = setting.name, share = Overload.share(outcome)
      shares.append("\(number(share * 100)) %")
      table.append("| \(name) | \(number(share * 100)) % | \(milliseconds(outcome.percentile(0.99))) |")
      goodput.append((name, outcome.goodput.map(Double.init)))
      latency.append((name, outcome.latencyBySecond.map { Outcome.percentile(0.99, of: $0) * 1000 }))
    }
    return Section(
      title: "Overload",
      text: """
        A server with \(Overload.workers) workers, each of which takes 50 to 150 ms, can serve
        \(number(Overload.capacity)) requests a second, and receives three times as many. Callers give up after 1 s. The
        server does not notice that, and completes their requests anyway. The first three seconds, in which its
        queue fills and limits adapt, do not count.
        """, table: table,
      plots: [
        (Plot(name: "overload-goodput", unit: "served in time, per second", series: goodput), "Goodput under overload"),
        (Plot(name: "overload-latency", unit: "p99, ms", series: latency), "Latency under overload"),
      ], measures: [Measure("overload: goodput, share of capacity", shares)])
  }

  private static func outage() async throws -> Section {
    var table = [
      "| breaker | sent to the dead server | of these, after opening | breaks | recovery after | longest recovery |",
      "|---|---|---|---|---|---|",
    ]
    var load: [(String, [Double])] = []
    var wasted: [String] = []
    var recovery: [String] = []
    for result in try await Outage.summaries.value {
      let setting = result.setting
      wasted.append(number(result.wasted))
      recovery.append("\(number(result.recovery, 1)) s")
      let open = setting.policy == nil ? "–" : number(result.wastedOpen, 1)
      let columns = [
        setting.name, number(result.wasted), open, number(result.breaks, 1), "\(number(result.recovery, 1)) s",
        "\(number(result.longestRecovery, 1)) s",
      ]
      table.append("| \(columns.joined(separator: " | ")) |")
      load.append((setting.name, (result.drawn?.load ?? []).map(Double.init)))
    }
    return Section(
      title: "Outage",
      text: """
        A client makes \(number(Outage.rate)) calls a second. From second 30 on, the server refuses connections for 30 s
        to 75 s. The figures are means over four outages, because the time until recovery depends on when within a break
        the server returns. The plot shows an outage of \(number(Outage.drawn)) s, until some time after the recovery.
        Half of 30 s of calls takes 15 s to fail, so a different rule opens Lastro's circuit: 20 calls in a row failed,
        spread over a second. Its breaks grow with the length of the outage, to a twentieth of it, and not with each
        failed probe.
        """,
      table: table,
      plots: [(Plot(name: "outage-load", unit: "requests per second", series: load), "Load in an outage")],
      measures: [
        Measure("outage: requests sent to the dead server", wasted), Measure("outage: recovery after", recovery),
      ])
  }

  private static func slowPeer() async throws -> Section {
    var table = ["| hedging | additional requests | p50 | p99 | p99.9 |", "|---|---|---|---|---|"]
    var latency: [(String, [Double])] = []
    var p99: [String] = []
    var extra: [String] = []
    for result in try await SlowPeer.results.value {
      let name = result.setting.name
      let shares = [0.5, 0.99, 0.999].map { milliseconds(result.outcome.percentile($0)) }
      table.append("| \(name) | \(number(result.extra * 100, 1)) % | \(shares.joined(separator: " | ")) |")
      p99.append(shares[1])
      extra.append("\(number(result.extra * 100, 1)) %")
      latency.append((name, result.outcome.latencyBySecond.map { Outcome.percentile(0.99, of: $0) * 1000 }))
    }
    return Section(
      title: "Slow peer",
      text: """
        A client makes \(number(SlowPeer.rate)) calls a second. Responses take 20 ms on average, and one in a hundred
        takes a second. resilience4j does not hedge.
        """, table: table,
      plots: [(Plot(name: "slow-peer-latency", unit: "p99, ms", series: latency), "Latency with a slow peer")],
      measures: [
        Measure("slow peer: p99", [p99[0], p99[1], "same as none", p99[2]]),
        Measure("slow peer: additional requests", [extra[0], extra[1], "same as none", extra[2]]),
      ])
  }

  private static func replica() async throws -> Section {
    var table = ["| balancing | failed calls | share of the calls in that minute |", "|---|---|---|"]
    var load: [(String, [Double])] = []
    var shares: [String] = []
    for result in try await HalfDeadReplica.results.value {
      let name = result.setting.name
      let share = Double(result.failures) / Double(result.callsWhileIll) * 100
      shares.append("\(number(share, 1)) %")
      table.append("| \(name) | \(result.failures) | \(number(share, 1)) % |")
      load.append((name, result.outcome.load.map(Double.init)))
    }
    return Section(
      title: "Half-dead replica",
      text: """
        A client distributes \(number(HalfDeadReplica.rate)) calls a second among three replicas. From second 20 to
        second 70, one of them immediately fails four of five calls. Polly and resilience4j have no mechanism against this. The plot shows the
        load of the failing replica.
        """, table: table,
      plots: [(Plot(name: "replica-load", unit: "requests per second", series: load), "Load of the failing replica")],
      measures: [Measure("half-dead replica: failed calls", [shares[0], shares[3]])])
  }

  private static func discovery() async throws -> Section {
    var table = [
      "| discovery | busiest pod, × mean | idlest pod, × mean | pods per instance | failed calls |",
      "|---|---|---|---|---|",
    ]
    var busiest: [String] = []
    for result in try await PodFleet.results.value {
      let columns = [
        result.setting.name, number(result.busiest, 2), number(result.idlest, 2), number(result.podsPerInstance, 1),
        "\(result.failures.count)",
      ]
      table.append("| \(columns.joined(separator: " | ")) |")
      busiest.append(number(result.busiest, 2))
    }
    return Section(
      title: "Discovery",
      text: """
        \(PodFleet.instances) instances make \(PodFleet.rate) calls a second each to \(PodFleet.pods) pods behind one name, over HTTP/2. In second
        \(PodFleet.change) a pod leaves the list, and it ends in second \(PodFleet.change + 5). The load is that before the change. Polly and
        resilience4j do not find servers.
        """, table: table, plots: [],
      measures: [Measure("discovery: load of the busiest pod, × mean", [busiest[0], busiest[2]])])
  }

  private static func storm() async throws -> Section {
    var table = [
      "| clients | peak load in a second after the return, × capacity | served per second, last 20 s |",
      "|---|---|---|",
    ]
    var load: [(String, [Double])] = []
    var goodput: [(String, [Double])] = []
    var spikes: [String] = []
    var served: [String] = []
    for result in try await RetryStorm.results.value {
      let setting = result.setting
      spikes.append(number(result.spike, 2))
      served.append(number(result.goodput))
      table.append("| \(setting.name) | \(number(result.spike, 2)) | \(number(result.goodput)) |")
      load.append((setting.name, result.outcome.load.map(Double.init)))
      goodput.append((setting.name, result.outcome.goodput.map(Double.init)))
    }
    return Section(
      title: "Retry storm",
      text: """
        Each of \(RetryStorm.clients) clients makes a call about every four seconds. Together they make 16 calls a
        second, and the server can serve \(number(RetryStorm.capacity)). The server is down from second 20 to second 30.
        From second 20 to second 40 the network loses half of what it carries, and TCP sends it again, which delays
        about a quarter of the attempts by more than 1 s. Clients give up an attempt after 1 s, and the server completes
        it anyway.
        """, table: table,
      plots: [
        (Plot(name: "storm-load", unit: "requests per second", series: load), "Load in a retry storm"),
        (Plot(name: "storm-goodput", unit: "served in time, per second", series: goodput), "Goodput in a retry storm"),
      ],
      measures: [
        Measure("retry storm: peak load, × capacity", spikes),
        Measure("retry storm: served per second at the end", served),
      ])
  }
}
