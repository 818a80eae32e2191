// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroCurl
import Logging

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Fetches URLs many times, and prints the cost as one JSON object.",
    discussion: """
      wall, user and sys are the seconds of the counted requests. The first request is not counted: it includes the start \
      of the program, of the engine and of its trusted roots, which startup_cpu reports. rss_kb is the memory of the \
      whole process. latency has the median and other percentiles of the successful requests, in seconds.

      opened counts connections. origins counts the schemes, hosts and ports that were requested. reuse is \
      1 - (opened - origins) / (requests - origins): the share of the requests that found a connection, among those \
      that could have found one.

      EXAMPLE:
        lastro bench http://localhost:8080/ -n 1000 -c 20
      """)

  struct Result: Encodable {
    var client = "lastro"
    var ok: Int
    var bytes: Int64
    var wall: Double
    var user: Double
    var sys: Double
    var startup: Double
    var rss: Int
    var opened: Int
    var origins: Int
    var reuse: Double?
    var latency: BenchLatency?

    enum CodingKeys: String, CodingKey {
      case client, ok, bytes, wall, user, sys, startup = "startup_cpu", rss = "rss_kb", opened, origins, reuse, latency
    }
  }

  /// The successful requests of a run, or of a part of it.
  private struct Load {
    var ok = 0
    var bytes: Int64 = 0
    var times: [Duration] = []
  }

  @Argument(help: "URL. With several, each request goes to one of them, drawn at random.")
  var urls: [String]
  @Option(name: [.customShort("n"), .customLong("requests")], help: "Number of requests.")
  var requests = 10_000
  @Option(name: [.customShort("c"), .customLong("concurrency")], help: "Number of requests at the same time.")
  var concurrency = 64
  @Flag(help: "HTTP/2 (default HTTP/1.1).")
  var http2 = false
  @Option(help: "PEM file of trusted roots, instead of the system's.")
  var cacert: String?
  @Option(help: "Event-loop threads.")
  var loops = 1
  @Option(help: "Number of idle connections to keep.")
  var idleConnections: Int?
  @Option(help: "Zipf's exponent for drawing URLs: the first ones are drawn most. With 0 all are drawn alike.")
  var zipf = 0.0
  @Option(help: "Seed for drawing URLs.")
  var seed: UInt64 = 1
  @OptionGroup var pins: PinFlags

  func validate() throws {
    for (name, value) in [("--requests", requests), ("--concurrency", concurrency)] where value < 1 {
      throw ValidationError("\(name) \(value) is out of range; give 1 or more.")
    }
    guard zipf >= 0 else { throw ValidationError("--zipf \(zipf) is out of range; give 0 or more.") }
  }

  func run() async throws {
    let judge = try Console.checked { try pins.judge() }
    let engine = try Console.checked { try CurlTransport(configuration(judge)) }
    let stack = CurlNetworkStack(sharing: engine)
    // The interceptors of `make benchmarks`, which most services use, with logging disabled.
    let logger = Logger(label: "lastro.bench") { _ in SwiftLogNoOpLogHandler() }
    let requests = try urls.map { try ResourceRequest(method: .get, url: $0) }
    let resources = requests.map {
      RawHTTPResource.raw($0, interceptors: [.logging(logger), .retry])
    }
    let targets = BenchTargets(
      requests.map { Origin($0.head) }, requests: self.requests + 1, exponent: zipf, seed: seed)
    // If this first request fails, the failures of the others will show it.
    _ = await Self.fetch(targets.order.prefix(1), stack, resources)
    let before = Usage()
    let start = ContinuousClock.now
    let load = await load(targets.order.dropFirst(), stack, resources)
    let wall = ContinuousClock.now - start
    let after = Usage()
    let result = Result(
      ok: load.ok, bytes: load.bytes, wall: wall / .seconds(1), user: after.user - before.user,
      sys: after.system - before.system,
      startup: before.user + before.system, rss: after.maximumResident, opened: engine.openedConnections,
      origins: targets.origins,
      reuse: BenchTargets.reuse(
        opened: engine.openedConnections, origins: targets.origins, requests: targets.order.count),
      latency: BenchLatency(load.times))
    try Console.out(result.jsonLine)
    await stack.shutDown()
    await judge?.flushReports()
    if load.ok < self.requests { throw ExitCode(1) }
  }

  private func configuration(_ judge: PinJudge?) -> CurlConfiguration {
    var configuration = pins.engine(judge)
    configuration.loops = loops
    if let idleConnections { configuration.idleConnections = idleConnections }
    configuration.maximumQueuedRequests = max(configuration.maximumQueuedRequests, concurrency)
    configuration.connection.httpVersion = http2 ? .http2 : .http1
    if let cacert { configuration.connection.tls.roots = .file(cacert) }
    return configuration
  }

  private func load(
    _ order: ArraySlice<Int>, _ stack: CurlNetworkStack, _ resources: [RawHTTPResource]
  ) async -> Load {
    let workers = min(concurrency, order.count)
    return await withTaskGroup(of: Load.self, returning: Load.self) { group in
      for worker in 0..<workers {
        let start = order.startIndex + order.count * worker / workers
        let end = order.startIndex + order.count * (worker + 1) / workers
        group.addTask { await Self.fetch(order[start..<end], stack, resources) }
      }
      var total = Load()
      for await part in group {
        total.ok += part.ok
        total.bytes += part.bytes
        total.times += part.times
      }
      return total
    }
  }

  private static func fetch(
    _ order: ArraySlice<Int>, _ stack: CurlNetworkStack, _ resources: [RawHTTPResource]
  ) async -> Load {
    var load = Load()
    load.times.reserveCapacity(order.count)
    for place in order {
      let start = ContinuousClock.now
      guard let value = try? await stack.fetch(resources[place]) else { continue }
      load.times.append(ContinuousClock.now - start)
      load.ok += 1
      load.bytes += Int64(value.value.count)
    }
    return load
  }
}

/// The resources that the process has used so far (`getrusage`).
struct Usage {
  var user: Double
  var system: Double
  var maximumResident: Int

  init() {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) * 1e-6
    system = Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) * 1e-6
    maximumResident = usage.ru_maxrss
  }
}
