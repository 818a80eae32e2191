// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The judges of a profile, at one revision of their rules.
struct JudgePanel {
  let judges: [any ServerTrustJudge]
  let revisions: [UInt64]

  /// Creates a panel.
  ///
  /// - Parameters:
  ///   - standing: the engine's judge, which applies to every request.
  ///   - options: the options of the request, which may require a SPIFFE ID and add a judge.
  init(standing: (any ServerTrustJudge)?, _ options: TLSOptions) {
    let additional = standing === options.trustJudge ? nil : options.trustJudge
    let all: [(any ServerTrustJudge)?] = [SPIFFEJudge(options.peer), standing, additional]
    judges = all.compactMap(\.self)
    revisions = judges.map(\.revision)
  }

  /// Whether only chain and host name are checked.
  var isEmpty: Bool { judges.isEmpty }

  /// Whether the rules are still those that connections were judged by.
  var isCurrent: Bool { zip(judges, revisions).allSatisfy { $0.revision == $1 } }

  /// Returns the verdict of all judges. Each judge can only narrow it.
  func judge(_ trust: ServerTrust) -> TrustDecision { decide(.validated) { $0.decision(on: trust) } }

  /// Throws if a judge refuses plain text to a host.
  func checkPlaintext(_ target: TrustTarget) throws(TransportError) {
    let decision = decide(.plain) { $0.decisionOnPlaintext(host: target.host, port: target.port) }
    if case .failure(let failure) = decision { throw .refusedTrust(failure) }
  }

  private func decide(_ verdict: TrustVerdict, _ ask: (any ServerTrustJudge) -> TrustDecision) -> TrustDecision {
    var result = verdict
    for judge in judges {
      switch ask(judge) {
      case .failure(let failure): return .failure(failure)
      // The word of a policy says more about the server than its SPIFFE ID, which was checked first.
      case .success(let word): if word != verdict, result == verdict || result == .spiffe { result = word }
      }
    }
    return .success(result)
  }
}
