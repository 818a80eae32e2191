// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroEveryday

@Suite("Combining the answers of two families")
struct FamilyAnswersTests {
  private enum Kind: String, CaseIterable { case found, absent, failed }

  private static func outcome(_ kind: Kind, _ family: FamilyAnswers.Family) -> FamilyAnswers.Outcome {
    let isFirst = family == .ipv4
    switch kind {
    case .found:
      return .success(
        .init(addresses: [isFirst ? "10.0.0.1" : "2001:db8::1"], timeToLive: .seconds(isFirst ? 100 : 200)))
    case .absent: return .success(.init(addresses: [], timeToLive: .seconds(isFirst ? 10 : 20)))
    case .failed:
      return .failure(TransportError(stage: .resolve, code: .hostNotFound, message: isFirst ? "4 down" : "6 down"))
    }
  }

  private static func word(_ step: FamilyAnswers.Step) -> String {
    switch step {
    case .wait: "wait"
    case .waitBriefly: "wait briefly"
    case .answer(.failure(let error)): error.message
    case .answer(.success(let name)):
      "\(name.addresses.joined(separator: " ")) for \(name.timeToLive?.brief ?? "an unknown time")"
    }
  }

  /// The result by the outcomes for IPv4 and then for IPv6. Their order of arrival does not matter.
  private static let whole: [Kind: [Kind: String]] = [
    .found: [
      .found: "2001:db8::1 10.0.0.1 for 100 s", .absent: "10.0.0.1 for 100 s", .failed: "10.0.0.1 for 60 s",
    ],
    .absent: [.found: "2001:db8::1 for 200 s", .absent: " for 10 s", .failed: "6 down"],
    .failed: [.found: "2001:db8::1 for 60 s", .absent: "4 down", .failed: "4 down"],
  ]

  @Test("Every pair of outcomes, in both orders, gives the expected result")
  func both() {
    for first in Kind.allCases {
      for second in Kind.allCases {
        for order in [[FamilyAnswers.Family.ipv4, .ipv6], [.ipv6, .ipv4]] {
          var answers = FamilyAnswers()
          _ = answers.recordOutcome(Self.outcome(order[0] == .ipv4 ? first : second, order[0]), of: order[0])
          let step = answers.recordOutcome(Self.outcome(order[1] == .ipv4 ? first : second, order[1]), of: order[1])
          #expect(Self.word(step) == Self.whole[first]?[second], "\(first), \(second), \(order)")
        }
      }
    }
  }

  @Test("A single IPv4 result waits briefly for IPv6 and is then used")
  func one() {
    for family in FamilyAnswers.Family.allCases {
      for kind in Kind.allCases {
        var answers = FamilyAnswers()
        let step = Self.word(answers.recordOutcome(Self.outcome(kind, family), of: family))
        #expect(step == (kind == .found && family == .ipv4 ? "wait briefly" : "wait"), "\(kind), \(family)")
        guard step == "wait briefly" else { continue }
        // The lifetime is short, so that the other family is looked up again soon.
        #expect(Self.word(answers.stopWaiting()) == "10.0.0.1 for 60 s")
      }
    }
  }
}
