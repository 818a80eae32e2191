// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What is known of the two families of a name that is looked up: decisions only.
struct FamilyAnswers {
  enum Family: Sendable, CaseIterable { case ipv4, ipv6 }

  /// The addresses of one family; none: the name has none of it.
  struct Answer: Sendable, Hashable {
    var addresses: [String]
    var timeToLive: Duration?
  }

  typealias Outcome = Result<Answer, TransportError>

  enum Step {
    case wait
    /// For so long as IPv4 waits for IPv6.
    case waitBriefly
    case answer(Result<ResolvedName, TransportError>)
  }

  /// A family that was too late, or failed, is asked for again soon.
  static let longestOfOne = Duration.seconds(60)

  private var outcomes: [Family: Outcome] = [:]

  mutating func take(_ outcome: Outcome, of family: Family) -> Step {
    outcomes[family] = outcome
    if outcomes.count == Family.allCases.count { return stopWaiting() }
    // IPv6 that comes first waits for IPv4, which works where IPv6 does not.
    if family == .ipv4, case .success(let answer) = outcome, !answer.addresses.isEmpty { return .waitBriefly }
    return .wait
  }

  /// What is known has to do.
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
    // That there is no name is said of one family by servers that mean this family alone (RFC 4074 §4.2).
    if found.isEmpty, let failure { return .answer(.failure(failure)) }
    let isWhole = found.count + absences.count == Family.allCases.count
    var time = (found.isEmpty ? absences : found).compactMap(\.timeToLive).min()
    if !isWhole { time = min(time ?? Self.longestOfOne, Self.longestOfOne) }
    let addresses = found.flatMap(\.addresses)
    return .answer(
      Result { () throws(TransportError) in try ResolvedName(addresses: addresses, timeToLive: time) })
  }
}
