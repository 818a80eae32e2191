// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Holds servers to the keys that are pinned for them (modelled on RFC 7469): the judge that Lastro has.
///
/// ```swift
/// let evaluator = ServerTrustEvaluator(
///   configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
/// options.tls.trustJudge = evaluator
/// ```
///
/// A server is accepted when any key of its verified chain is pinned. Other certificates that it sends do not count. To
/// a host whose key is pinned nothing is sent over plain `http`. The evaluator may be used, and its configuration
/// replaced, from any thread.
public final class ServerTrustEvaluator: ServerTrustJudge {
  private let state: Lock<TrustRules>
  private let tally = TrustTally()
  private let timeSource: TimeSource
  private let reporter: TrustReporter?

  /// Makes an evaluator.
  ///
  /// - Parameters:
  ///   - configuration: the policies.
  ///   - timeSource: tells whether policies have expired, and when a report may be repeated. Default: the system's.
  ///   - reportInterval: how long an identical failure is not reported again. Default 24 hours. The 256 reported last
  ///     are remembered; beyond, one that was reported longer ago is reported anew before its time.
  ///   - onReport: told of every failure, refused or let pass by a policy in report-only mode. One at a time and in
  ///     order, in a task of its own, never on the engine's thread; what it takes long for delays other reports only.
  ///     64 may wait; those beyond are lost, and counted in ``ServerTrustEvaluator/Statistics/reportsDropped``. Default
  ///     `nil`: reports are dropped.
  public init(
    configuration: Configuration, timeSource: TimeSource = .continuous, reportInterval: Duration = .seconds(86_400),
    onReport: (@Sendable (TrustReport) async -> Void)? = nil
  ) {
    state = Lock(TrustRules(configuration, generation: 1))
    self.timeSource = timeSource
    reporter = onReport.map { TrustReporter(interval: reportInterval, handler: $0) }
  }

  /// The configuration in force.
  public var configuration: Configuration { rules.configuration }

  /// Puts another configuration in force: for every judgement that begins from now on. With the change of ``revision``
  /// the next request to any host, whatever changed, is sent on a new connection.
  public func replaceConfiguration(_ configuration: Configuration) {
    state.withLock { $0 = TrustRules(configuration, generation: $0.generation + 1) }
    tally.keep(configuration.pinningPolicies.map(\.host))
  }

  /// Changes with every new configuration, and whenever a policy expires; then connections of all hosts are made anew.
  public var revision: UInt64 {
    let rules = rules
    return rules.revision(at: rules.everExpires ? now : .distantPast)
  }

  /// Accepts a server, or refuses it.
  public func judge(_ trust: ServerTrust) -> TrustDecision { decide(rules.judge(trust, at: now)) }

  /// Refuses plain `http` where a key would be demanded over TLS, and where a host without a policy is refused.
  public func judgePlaintext(host: HostName, port: Int) -> TrustDecision {
    decide(rules.judgePlaintext(ServerTrust(host: host, port: port, chain: []), at: now))
  }

  /// As ``judge(_:)``: returns for a server that may be talked to.
  ///
  /// - Throws: ``TrustFailure`` for one that may not.
  public func evaluate(_ trust: ServerTrust) throws(TrustFailure) {
    if case .refused(let failure) = judge(trust) { throw failure }
  }

  /// What became of the servers judged so far.
  public var statistics: ServerTrustEvaluator.Statistics {
    var result = tally.statistics
    result.reportsDropped = reporter?.dropped ?? 0
    return result
  }

  /// Returns once `onReport` is done with all reports so far: before a program ends, say.
  ///
  /// Cancellation does not shorten it. Called by `onReport` itself it never returns, for it waits for its caller.
  public func flushReports() async { await reporter?.flush() }

  /// Which policy holds for a host, and what it demands.
  public func explanation(for host: HostName) -> String { rules.explanation(for: host, at: now) }

  private func decide(_ verdict: TrustRules.Verdict) -> TrustDecision {
    tally.count(verdict)
    guard let failure = verdict.failure else { return .accepted(verdict.word) }
    reporter?.report(failure, isEnforced: verdict.isEnforced, at: timeSource)
    return verdict.isEnforced ? .refused(failure) : .accepted(verdict.word)
  }

  private var rules: TrustRules { state.withLock { $0 } }

  private var now: Date { Date(timeIntervalSince1970: timeSource.sinceEpoch().inSeconds) }
}
