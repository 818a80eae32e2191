// SPDX-License-Identifier: Apache-2.0

/// A time in which something fails, and what its users are promised.
struct Phase: Sendable {
  /// What an answer may lack.
  enum Part: Sendable, CaseIterable {
    case freshCount
    case price
    case currency
  }

  let name: String
  /// What every answer of this phase lacks; it has the rest. No phase has errors.
  var lacks: Set<Part> = []
  /// The server that fails, and how many requests it may get of those that would be for it.
  var failing: Upstream?
  var most: Int?
  /// What makes it well again beside turning all servers to healthy.
  var end: @Sendable () throws -> Void = {}
  let begin: @Sendable () throws -> Void
  /// Begun right after `begin`; returns what else does not hold when the phase is over.
  var watch: @Sendable () -> @Sendable () -> [String] = { { [] } }

  /// What users were promised and did not get.
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
