// SPDX-License-Identifier: Apache-2.0

/// The table of the results that users saw.
struct Report {
  private var healthy: Duration?
  private(set) var problems: [String] = []
  private var latestTick = Duration.zero
  private var total = Tally()

  /// - Parameters:
  ///   - users: the number of users.
  ///   - requests: the number of requests of all users in one phase.
  init(users: Int, requests: Int) {
    print(
      """
      A shop asks three APIs: prices (a token by OAuth 2, pinned keys), stock (cached) and rates of exchange (two servers).
      \(users) users ask it for \(requests) offers while one thing after the other goes wrong. What they saw:

      """)
    print(
      Self.row(["", "requests", "answered", "whole", "old", "no price", "in EUR", "errors", "reached", "slowest"]))
  }

  /// Prints an explanation of the columns.
  func explain() {
    print(
      """

      whole      offers with all of it: a fresh count, a price, the currency that was asked for
      old        the count is from the cache, as stock could not be asked
      no price   the rest of the offer, without its price
      in EUR     the price in euros, as no server of rates could be asked
      reached    requests and connections that the failing server still got: its circuit opens, and the rest spare it
      slowest    answer, compared with the slowest of the first row

      """)
  }

  /// Adds a row. The other phases are compared with the first phase.
  mutating func add(_ phase: Phase, _ tally: Tally, reached: Int?) {
    total.add(tally)
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

  /// Records the longest delay of the load's own timer.
  mutating func note(latestTick: Duration) { self.latestTick = latestTick }

  /// A note that the machine is busy; `nil` if the load's own timer was never 200 ms late.
  var busyness: String? {
    guard latestTick >= .milliseconds(200) else { return nil }
    return "This machine is busy: a timer of the load came \(latestTick / .milliseconds(1)) ms late."
  }

  /// A sentence with the result of the whole load.
  var conclusion: String {
    let partial = total.answered - total.whole
    return """
      While each of the three APIs failed in turn, users got \(total.answered) of \(total.requests) answers: \(total.whole) \
      with all parts, and \(partial) without the part of the API that failed.
      """
  }

  private static func row(_ cells: [String]) -> String {
    cells.enumerated().map { index, cell in
      let space = String(repeating: " ", count: max(0, (index == 0 ? 31 : 9) - cell.count))
      return index == 0 ? cell + space : space + cell
    }.joined()
  }
}
