// SPDX-License-Identifier: Apache-2.0

import Lastro

/// Judges by pins, and tells on standard error what was let pass though it would have been refused.
///
/// An evaluator's own reports come from a task that may not have run when the program ends; these are awaited.
final class PinJudge: ServerTrustJudge {
  /// Decides by the pins of the flags.
  private let evaluator: ServerTrustEvaluator
  /// The same policies, all enforced: says what would have been refused, and why.
  private let strict: ServerTrustEvaluator
  private let reports: AsyncStream<TrustFailure>.Continuation
  private let printing: Task<Void, Never>

  /// - Parameter reportsOnly: whether nothing is refused, whatever the policies say.
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
      // A connection for each of many requests is one report.
      var seen: Set<TrustFailure> = []
      for await failure in stream where seen.insert(failure).inserted {
        Console.error("lastro: reported only, not refused: \(failure.stageAndCode): \(failure)")
      }
    }
  }

  /// Returns when all is told.
  func finish() async {
    reports.finish()
    await printing.value
  }

  var revision: UInt64 { evaluator.revision }

  func judge(_ trust: ServerTrust) -> TrustDecision { reporting(evaluator.judge(trust), strict.judge(trust)) }

  func judgePlaintext(host: HostName, port: Int) -> TrustDecision {
    reporting(evaluator.judgePlaintext(host: host, port: port), strict.judgePlaintext(host: host, port: port))
  }

  func explanation(for host: HostName) -> String { evaluator.explanation(for: host) }

  private func reporting(_ decision: TrustDecision, _ enforced: TrustDecision) -> TrustDecision {
    guard case .accepted = decision, case .refused(var failure) = enforced else { return decision }
    failure.policy = evaluator.configuration.policy(for: failure.trust.host)
    reports.yield(failure)
    return decision
  }
}

extension TrustFailure {
  /// The words that errors begin with.
  var stageAndCode: String { "\(FailureStage.trust.rawValue)/\(code)" }
}

extension PinningPolicy {
  /// The same with another mode, where it has that one.
  fileprivate func changing(_ old: Mode, to new: Mode) throws -> PinningPolicy {
    guard mode == old else { return self }
    let hashes = Set(pins.map(\.description))
    guard !host.isIPAddress else {
      return try PinningPolicy(
        ipAddress: host.text, expiration: expiration, pinnedHashes: hashes, enforceBackupPin: enforceBackupPin,
        mode: new)
    }
    return try PinningPolicy(
      domainName: host.text, includeSubdomains: includeSubdomains, expiration: expiration, pinnedHashes: hashes,
      enforceBackupPin: enforceBackupPin, mode: new)
  }
}
