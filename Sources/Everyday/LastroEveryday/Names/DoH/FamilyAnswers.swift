// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The answers for the two address families of a name. It makes decisions only, without I/O.
struct FamilyAnswers {
  enum Family: Sendable, CaseIterable { case ipv4, ipv6 }

  /// The addresses of one family; empty if the name has none of that family.
  struct Answer: Sendable, Hashable {
    var addresses: [String]
    var timeToLive: Duration?
  }

  typealias Outcome = Result<Answer, TransportError>

  enum Step {
    case wait
    /// Wait for IPv6 for as long as IPv4 may wait for it.
    case waitBriefly
    case answer(Result<ResolvedName, TransportError>)
  }

  /// The maximum time to live of an answer without one family, so that the missing family is looked up again soon.
  static let longestOfOne = Duration.seconds(60)

  private var outcomes: [Family: Outcome] = [:]

  mutating func recordOutcome(_ outcome: Outcome, of family: Family) -> Step {
    outcomes[family] = outcome
    if outcomes.count == Family.allCases.count { return stopWaiting() }
    // If IPv6 arrives first, wait for IPv4, which works where IPv6 does not.
    if family == .ipv4, case .success(let answer) = outcome, !answer.addresses.isEmpty { return .waitBriefly }
    return .wait
  }

  /// Returns the answer from the families known so far.
  func stopWaiting() -> Step {
    var found: [Answer] = [], absences: [Answer] = []
    var failure: TransportError?
    for family in [Family.ipv6, .ipv4] {
      switch outcomes[family] {
      case .success(let answer) where answer.addresses.isEmpty: absences.append(answer)
      case .success(let answer): found.append(answer)
      case .failure(let error): failure = error
      case nil: break
      }
    }
    // Some servers report that a name does not exist if it lacks one family only (RFC 4074 §4.2), so an absence does
    // not hide a failure of the other family.
    if found.isEmpty, let failure { return .answer(.failure(failure)) }
    let isWhole = found.count + absences.count == Family.allCases.count
    var time = (found.isEmpty ? absences : found).compactMap(\.timeToLive).min()
    if !isWhole { time = min(time ?? Self.longestOfOne, Self.longestOfOne) }
    let addresses = found.flatMap(\.addresses)
    return .answer(
      Result { () throws(TransportError) in try ResolvedName(addresses: addresses, timeToLive: time) })
  }
}
