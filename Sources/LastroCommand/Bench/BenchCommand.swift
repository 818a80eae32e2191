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
    commandName: "bench", abstract: "Fetches one URL many times and prints what it cost, as one JSON object.",
    discussion: """
      wall, user and sys are seconds of the requests alone: a first one, which is not counted, pays for the start of the \
      program, the engine and its trusted roots. What that took is startup_cpu. rss_kb is of the whole process.
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

    enum CodingKeys: String, CodingKey {
      case client, ok, bytes, wall, user, sys, startup = "startup_cpu", rss = "rss_kb"
    }
  }

  @Argument(help: "URL.")
  var url: String
  @Option(help: "How many requests.")
  var requests = 10_000
  @Option(help: "How many at a time.")
  var concurrency = 64
  @Flag(help: "HTTP/2 (default HTTP/1.1).")
  var http2 = false
  @Option(help: "PEM file of trusted roots, instead of the system's.")
  var cacert: String?
  @Option(help: "Event-loop threads.")
  var loops = 1
  @OptionGroup var pins: PinFlags

  func validate() throws {
    for (name, value) in [("--requests", requests), ("--concurrency", concurrency)] where value < 1 {
      throw ValidationError("\(name) \(value) is out of range; give 1 or more.")
    }
  }

  func run() async throws {
    let judge = try Console.checked { try pins.judge() }
    var configuration = pins.engine(judge)
    configuration.loops = loops
    configuration.maximumQueuedRequests = max(configuration.maximumQueuedRequests, concurrency)
    configuration.connection.httpVersion = http2 ? .http2 : .http1
    if let cacert { configuration.connection.tls.roots = .file(cacert) }
    let stack = try CurlNetworkStack(configuration)
    // The chain of `make benchmarks`: what most services have, with their logging off.
    let logger = Logger(label: "lastro.bench") { _ in SwiftLogNoOpLogHandler() }
    let resource = RawHTTPResource.raw(
      try ResourceRequest(method: .get, url: url),
      interceptors: [LoggingInterceptor(logger: logger), RetryInterceptor.standard])
    // Where it fails, the others will tell.
    _ = await Self.fetch(1, stack, resource)
    let before = Usage()
    let start = ContinuousClock.now
    let (ok, bytes) = await load(stack, resource)
    let wall = ContinuousClock.now - start
    let after = Usage()
    let result = Result(
      ok: ok, bytes: bytes, wall: wall / .seconds(1), user: after.user - before.user, sys: after.system - before.system,
      startup: before.user + before.system, rss: after.maximumResident)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let line = String(decoding: try encoder.encode(result), as: UTF8.self)
    do {
      try Console.out(line)
    } catch {
      throw Console.give(up: error)
    }
    await stack.shutDown()
    await judge?.finish()
    if ok < requests { throw ExitCode(1) }
  }

  private func load(_ stack: CurlNetworkStack, _ resource: RawHTTPResource) async -> (ok: Int, bytes: Int64) {
    let workers = min(concurrency, requests)
    return await withTaskGroup(of: (Int, Int64).self, returning: (Int, Int64).self) { group in
      for worker in 0..<workers {
        let share = requests / workers + (worker < requests % workers ? 1 : 0)
        group.addTask { await Self.fetch(share, stack, resource) }
      }
      var total: (Int, Int64) = (0, 0)
      for await part in group { total = (total.0 + part.0, total.1 + part.1) }
      return total
    }
  }

  private static func fetch(_ count: Int, _ stack: CurlNetworkStack, _ resource: RawHTTPResource) async -> (Int, Int64)
  {
    var ok = 0
    var bytes: Int64 = 0
    for _ in 0..<count {
      guard let value = try? await stack.fetch(resource) else { continue }
      ok += 1
      bytes += Int64(value.value.count)
    }
    return (ok, bytes)
  }
}

/// What the process has used so far (`getrusage`).
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
