// SPDX-License-Identifier: Apache-2.0

import Lastro

/// Judges servers by pins, and reports on standard error the servers that it accepts although enforced pins would
/// refuse them.
///
/// An evaluator's own reports come from a task that may not have run when the program exits; these reports are awaited.
final class PinJudge: ServerTrustJudge {
  /// The evaluator that decides by the pins of the flags.
  private let evaluator: ServerTrustEvaluator
  /// The evaluator with all policies enforced: it determines what would have been refused, and why.
  private let strict: ServerTrustEvaluator
  private let reports: AsyncStream<TrustFailure>.Continuation
  private let printing: Task<Void, Never>

  /// - Parameter reportsOnly: whether nothing is refused, regardless of the policies.
  init(_ configuration: ServerTrustEvaluator.Configuration, reportsOnly: Bool) throws {
    let enforced = try configuration.pinningPolicies.map { try $0.changing(.reportOnly, to: .enforce) }
    strict = ServerTrustEvaluator(
      configuration: try .init(
        pinningPolicies: enforced, certificateCheckingOrder: configuration.certificateCheckingOrder,
        allowNotPinnedDomains: configuration.allowNotPinnedDomains))
    evaluator = ServerTrustEvaluator(
      configuration: reportsOnly
        ? try .init(
          pinningPolicies: configuration.pinningPolicies.map { try $0.changing(.enforce, to: .reportOnly) },
          certificateCheckingOrder: configuration.certificateCheckingOrder, allowNotPinnedDomains: true)
        : configuration)
    let (stream, continuation) = AsyncStream<TrustFailure>.makeStream()
    reports = continuation
    printing = Task.detached {
      // The same failure on several connections is reported once.
      var seen: Set<TrustFailure> = []
      for await failure in stream where seen.insert(failure).inserted {
        Console.error("lastro: reported only, not refused: \(failure.stageAndCode): \(failure)")
      }
    }
  }

  /// Waits until every report has been printed.
  func flushReports() async {
    reports.finish()
    await printing.value
  }

  var revision: UInt64 { evaluator.revision }

  func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    try reporting(evaluator.decision(on: trust), strict.decision(on: trust)).get()
  }

  func judgePlaintext(host: HostName, port: Int) throws(TrustFailure) -> TrustVerdict {
    let enforced = strict.decisionOnPlaintext(host: host, port: port)
    return try reporting(evaluator.decisionOnPlaintext(host: host, port: port), enforced).get()
  }

  func explanation(for host: HostName) -> String { evaluator.explanation(for: host) }

  private func reporting(_ decision: TrustDecision, _ enforced: TrustDecision) -> TrustDecision {
    guard case .success = decision, case .failure(var failure) = enforced else { return decision }
    failure.policy = evaluator.configuration.policy(for: failure.trust.host)
    reports.yield(failure)
    return decision
  }
}

extension TrustFailure {
  /// The prefix of an error message.
  var stageAndCode: String { "\(FailureStage.trust.rawValue)/\(code)" }
}

extension PinningPolicy {
  /// Returns the policy with another mode if it has the old one.
  fileprivate func changing(_ old: Mode, to new: Mode) throws -> PinningPolicy {
    guard mode == old else { return self }
    return try PinningPolicy(
      host.text, includeSubdomains: includeSubdomains, expiration: expiration, pins: pins.map(\.description),
      enforceBackupPin: enforceBackupPin, mode: new)
  }
}
