// SPDX-License-Identifier: Apache-2.0

import Glibc

extension BenchClient {
  /// Reads the command line, runs the scenario, prints the result and exits. It runs on the concurrent pool, so that
  /// the main thread does not take part in the measurement.
  @concurrent
  public static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      try DescriptorLimit.raise()
      let client = try Self(arguments)
      let measurement = try await client.measure(arguments)
      try await client.shutDown()
      print(measurement)
      fflush(nil)
      exit(0)
    } catch {
      let line = "\(name): \(error)\n"
      _ = write(STDERR_FILENO, line, line.utf8.count)
      exit((error as? BenchFailure)?.status ?? 1)
    }
  }

  private func measure(_ arguments: Arguments) async throws -> Measurement {
    let idle = try ProcessFile.memory("VmRSS")
    let outcome = try await run(arguments)
    return Measurement(
      client: Self.name, scenario: arguments.scenario, requests: try arguments.requests, bytes: outcome.bytes,
      used: outcome.used, peakKiB: try ProcessFile.memory("VmHWM"), idleKiB: idle)
  }

  private func run(_ arguments: Arguments) async throws -> (bytes: Int, used: Usage) {
    switch arguments.scenario {
    case .fetch, .json, .handshakes:
      try await load(arguments, arguments.scenario, url: "url", concurrency: try arguments.concurrency)
    case .download, .upload:
      try await load(arguments, arguments.scenario, url: "url", concurrency: 1)
    case .idle: try await idle(arguments)
    case .cancel: try await cancel(arguments)
    }
  }

  /// Runs the warm-up requests, and then the measured requests. `url` is the key of the URL.
  func load(
    _ arguments: Arguments, _ kind: Scenario, url: String, concurrency: Int
  ) async throws -> (bytes: Int, used: Usage) {
    let exchange = try exchange(kind, url: try arguments.required(url))
    let size = try arguments.number("size")
    let requests = try arguments.requests
    let warmup = try arguments.warmup
    return try await withTaskExecutorPreference(executor) {
      _ = try await Load.run(warmup, concurrency: concurrency, size: size, exchange)
      let before = Usage.now
      let bytes = try await Load.run(requests, concurrency: concurrency, size: size, exchange)
      return (bytes, Usage.now - before)
    }
  }
}
