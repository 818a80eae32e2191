// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroSupport

/// Checks servers against the keys that are pinned for them (modelled on RFC 7469). It is Lastro's implementation of
/// `ServerTrustJudge`.
///
/// ```swift
/// let evaluator = ServerTrustEvaluator(
///   configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
/// options.tls.trustJudge = evaluator
/// ```
///
/// A server is accepted if any key in its verified chain is pinned. Other certificates that the server sends are
/// ignored. No request is sent over plain `http` to a host whose key is pinned. The evaluator may be used, and its
/// configuration replaced, from any thread.
public final class ServerTrustEvaluator: ServerTrustJudge {
  private let state: Lock<TrustRules>
  private let tally = TrustTally()
  private let timeSource: TimeSource
  private let reporter: TrustReporter?

  /// Creates an evaluator.
  ///
  /// - Parameters:
  ///   - configuration: the policies.
  ///   - timeSource: the clock for the expiration of policies and the interval of reports. Default: the system's clock.
  ///   - reportInterval: the time for which an identical failure is not reported again. Default 24 hours. The evaluator
  ///     remembers the 256 failures that were reported last; a failure that it has forgotten may be reported again
  ///     earlier.
  ///   - onReport: a closure that receives every failure, including those accepted by a policy in report-only mode. It
  ///     is called for one report at a time, in order, in a separate task, and never on the engine's thread, so a slow
  ///     closure delays only other reports. At most 64 reports wait; further reports are dropped and counted in
  ///     ``ServerTrustEvaluator/Statistics/reportsDropped``. Default `nil`: no failure is reported.
  public init(
    configuration: Configuration, timeSource: TimeSource = .continuous, reportInterval: Duration = .seconds(86_400),
    onReport: (@Sendable (TrustReport) async -> Void)? = nil
  ) {
    state = Lock(TrustRules(configuration, generation: 1))
    self.timeSource = timeSource
    reporter = onReport.map { TrustReporter(interval: reportInterval, handler: $0) }
  }

  /// The current configuration.
  public var configuration: Configuration { rules.configuration }

  /// Replaces the configuration for all judgements that begin after the call. Because ``revision`` changes, the next
  /// request to every host, whether its policy changed or not, uses a new connection.
  public func replaceConfiguration(_ configuration: Configuration) {
    state.withLock { $0 = TrustRules(configuration, generation: $0.generation + 1) }
    tally.keep(configuration.pinningPolicies.map(\.host))
  }

  /// The revision of the rules. It changes with every new configuration and whenever a policy expires; the connections
  /// to all hosts are then replaced.
  public var revision: UInt64 {
    let rules = rules
    return rules.revision(at: rules.everExpires ? now : .distantPast)
  }

  /// Accepts or refuses a server.
  public func judge(_ trust: ServerTrust) -> TrustDecision { decide(rules.judge(trust, at: now)) }

  /// Refuses plain `http` for a host that would need a pinned key over TLS, or that has no policy where one is
  /// required.
  public func judgePlaintext(host: HostName, port: Int) -> TrustDecision {
    decide(rules.judgePlaintext(ServerTrust(host: host, port: port, chain: []), at: now))
  }

  /// Judges a server as ``judge(_:)`` does, and returns if it is accepted.
  ///
  /// - Throws: ``TrustFailure`` if the server is refused.
  public func evaluate(_ trust: ServerTrust) throws(TrustFailure) {
    if case .refused(let failure) = judge(trust) { throw failure }
  }

  /// The number of servers judged so far, by result.
  public var statistics: ServerTrustEvaluator.Statistics {
    var result = tally.statistics
    result.reportsDropped = reporter?.dropped ?? 0
    return result
  }

  /// Waits until `onReport` has handled all reports so far, for example before a program exits.
  ///
  /// Cancellation does not shorten the wait. If `onReport` itself calls this method, it never returns, because it waits
  /// for its own caller.
  public func flushReports() async { await reporter?.flush() }

  /// Returns a text that names the policy for a host and its requirements.
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
