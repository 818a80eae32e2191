// SPDX-License-Identifier: Apache-2.0

/// A period in which a server fails, and the results that users are promised during it.
struct Phase: Sendable {
  /// A part that a response may lack.
  enum Part: Sendable, CaseIterable {
    case freshCount
    case price
    case currency
  }

  let name: String
  /// The parts that every response of this phase lacks. It has all other parts. No phase has errors.
  var lacks: Set<Part> = []
  /// The server that fails, and the maximum number of requests that may still reach it.
  var failing: Upstream?
  var most: Int?
  /// An action that ends the fault, in addition to setting all servers to healthy.
  var end: @Sendable () throws -> Void = {}
  let begin: @Sendable () throws -> Void
  /// Starts an observation right after `begin`. The returned function is called at the end of the phase, and returns
  /// further problems.
  var watch: @Sendable () -> @Sendable () -> [String] = { { [] } }

  /// Returns the promises to users that were broken.
  func complaints(_ tally: Tally, reached: Int?) -> [String] {
    var found: [String] = []
    if tally.errors > 0 { found.append("\(tally.errors) users saw an error: \(tally.example ?? "")") }
    for part in Part.allCases {
      let count = tally.lacking(part)
      let promised = lacks.contains(part) ? tally.requests : 0
      if count != promised, tally.errors == 0 {
        found.append("\(count) answers lack \(part), where \(promised) should")
      }
    }
    if let most, let reached, reached > most {
      found.append("\(reached) requests went to a server that fails, where \(most) are enough")
    }
    return found.map { "\(name): \($0)" }
  }
}

extension Tally {
  fileprivate func lacking(_ part: Phase.Part) -> Int {
    switch part {
    case .freshCount: old
    case .price: withoutPrice
    case .currency: inEuros
    }
  }
}
