// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroSimulation
import LastroTesting

// swift run -c release --package-path Benchmarks SimulationBench [RUNS]
//
// Prints the number of simulated calls for each minute of a processor: five machines with retries, two servers, random
// faults, 1,000 calls a run. Default 50 runs.
@main struct SimulationBench {
  static func main() async throws {
    let runs = CommandLine.arguments.dropFirst().first.flatMap { UInt64($0) } ?? 50
    let simulation = Simulation { world in
      try world.server("https://api.example", count: 2) { .text($0.target) }
      world.machine("worker", count: 5) { machine in
        let stack = machine.stack(StackConfiguration(interceptors: [.retry]))
        for number in 0..<200 { _ = try? await stack.fetch(.text("https://api.example/\(number)")) }
      }
      world.require(.everyCallEnds(within: .seconds(61)))
    }
    let before = clock()
    let calls = try await simulation.run(seeds: 1...max(1, runs))
    let seconds = Double(clock() - before) / Double(CLOCKS_PER_SEC)
    print("\(calls) calls in \(seconds) s of a processor: \(Int(Double(calls) / seconds * 60)) a minute")
  }
}
