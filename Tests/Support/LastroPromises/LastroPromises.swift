// SPDX-License-Identifier: Apache-2.0

import Foundation
import PromiseSupport

/// Simulates calls until there are as many as `--calls` says, with random faults, and exits with 1 if one of Lastro's
/// promises is broken or the memory grows. It is a program, because tests are built without optimization.
///
/// `LastroPromises [--calls N] [--seed N]`; by default 100,000 calls from seed 1 on.
@main struct LastroPromises {
  /// The memory that a run without a crash may leave behind: tasks of its servers that are suspended when it ends stay
  /// so. The data of its calls would be more.
  private static let mostGrowth = 16 << 10

  private struct MemoryGrew: Error { let by: Int }

  static func main() async {
    var numbers: [String: UInt64] = ["--calls": 100_000, "--seed": 1]
    var arguments = CommandLine.arguments.dropFirst()
    while let name = arguments.popFirst() {
      guard numbers[name] != nil, let number = arguments.popFirst().flatMap({ UInt64($0) }), number < 1 << 62 else {
        print("usage: LastroPromises [--calls N] [--seed N]")
        exit(64)
      }
      numbers[name] = number
    }
    let calls = Int(numbers["--calls"] ?? 0)
    do {
      let began = clock()
      var last = 0, growth = 0, counted = 0
      let extent = try await Promises.run(calls: calls, from: numbers["--seed"] ?? 1) { extent in
        let used = memory()
        // At first, caches grow.
        if extent.calls * 10 >= calls, !extent.hadCrashes {
          growth += used - last
          counted += 10
        }
        last = used
        if growth > 8 << 20 + counted * mostGrowth { throw MemoryGrew(by: growth) }
      }
      let seconds = Double(clock() - began) / Double(CLOCKS_PER_SEC)
      print(
        """
        \(extent.calls) calls in \(extent.runs) runs: nothing sent twice, no response to another caller, every deadline \
        kept, every permit returned, \(growth / max(1, counted)) bytes left behind by a run without crashes, \
        \(Int(Double(extent.calls) / seconds * 60)) calls a minute
        """)
    } catch {
      print(error)
      exit(1)
    }
  }

  /// The resident memory of the process in bytes; 0 where the system does not say.
  private static func memory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
