// SPDX-License-Identifier: Apache-2.0

/// The table of what users saw.
struct Report {
  private var healthy: Duration?
  private(set) var problems: [String] = []

  init() {
    print(
      Self.row(["", "requests", "200", "whole", "old", "no price", "in EUR", "errors", "reached", "slowest"]))
  }

  /// Adds a row; the first phase is what others are compared with.
  mutating func add(_ phase: Phase, _ tally: Tally, reached: Int?) {
    let base = healthy ?? tally.slowest
    healthy = base
    let numbers = [
      tally.requests, tally.answered, tally.whole, tally.old, tally.withoutPrice, tally.inEuros, tally.errors,
    ]
    let ratio = "×\(((tally.slowest / base) * 10).rounded() / 10)"
    print(Self.row([phase.name] + numbers.map { $0 == 0 ? "–" : "\($0)" } + [reached.map { "\($0)" } ?? "–", ratio]))
    problems += phase.complaints(tally, reached: reached)
  }

  mutating func check(_ claim: String, _ holds: Bool) {
    print("\(holds ? "✓" : "✗") \(claim)")
    if !holds { problems.append(claim) }
  }

  private static func row(_ cells: [String]) -> String {
    cells.enumerated().map { index, cell in
      let space = String(repeating: " ", count: max(0, (index == 0 ? 31 : 9) - cell.count))
      return index == 0 ? cell + space : space + cell
    }.joined()
  }
}
