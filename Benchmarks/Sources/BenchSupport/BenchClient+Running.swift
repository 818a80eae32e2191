// SPDX-License-Identifier: Apache-2.0

import Glibc

extension BenchClient {
  /// The program: reads the command line, runs the scenario, prints the result, exits. On the concurrent pool, so that the
  /// main thread has no part in what is measured.
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
    let requests = try arguments.requests
    let (bytes, used) = try await run(arguments)
    return Measurement(
      client: Self.name, scenario: arguments.scenario, requests: requests, bytes: bytes, used: used,
      peakKiB: try ProcessFile.memory("VmHWM"), idleKiB: idle)
  }

  private func run(_ arguments: Arguments) async throws -> (bytes: Int, used: Usage) {
    switch arguments.scenario {
    case .fetch, .json:
      return try await load(arguments, concurrency: try arguments.concurrency, warmup: try arguments.warmup)
    case .download, .upload, .handshakes, .idle, .cancel:
      throw BenchFailure.unsupported("\(arguments.scenario.rawValue) is not there yet")
    }
  }

  /// Warms up, then measures.
  private func load(
    _ arguments: Arguments, concurrency: Int, warmup: Int
  ) async throws -> (bytes: Int, used: Usage) {
    let operation = try operation(arguments.scenario, url: try arguments.required("url"))
    let size = try arguments.number("size")
    let requests = try arguments.requests
    _ = try await Load.run(warmup, concurrency: concurrency, size: size, operation)
    let before = Usage.now
    let bytes = try await Load.run(requests, concurrency: concurrency, size: size, operation)
    return (bytes, Usage.now - before)
  }
}
