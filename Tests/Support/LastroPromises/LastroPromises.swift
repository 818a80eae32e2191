// SPDX-License-Identifier: Apache-2.0

import Foundation
import PromiseSupport

/// Simulates calls until there are as many as `--calls` says, with random faults, and exits with 1 if one of Lastro's
/// promises is broken or the memory grows. It is a program, because tests are built without optimization.
///
/// `LastroPromises [--calls N] [--seed N]`; by default 100,000 calls from seed 1 on.
@main struct LastroPromises {
  /// The growth of the memory, after the first tenth of the calls, that is a leak.
  private static let mostGrowth = 32 << 20

  private struct MemoryGrew: Error {
    let from: Int
    let to: Int
  }

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
      var early: Int?, most = 0
      let extent = try await Promises.run(calls: calls, from: numbers["--seed"] ?? 1) { extent in
        let used = memory()
        most = max(most, used)
        guard extent.calls * 10 >= calls else { return }
        let first = early ?? most
        early = first
        if used > first + mostGrowth { throw MemoryGrew(from: first, to: used) }
      }
      let seconds = Double(clock() - began) / Double(CLOCKS_PER_SEC)
      print(
        """
        \(extent.calls) calls in \(extent.runs) runs: nothing sent twice, no response to another caller, every deadline \
        kept, every permit returned, \(most >> 20) MB at most, \(Int(Double(extent.calls) / seconds * 60)) calls a minute
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
