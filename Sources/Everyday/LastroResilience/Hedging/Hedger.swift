// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroSupport

/// Sends a slow request a second time and uses the first acceptable response.
///
/// A hedge repeats the sending half of an attempt. It happens below interceptors, so both tries carry the same
/// signature, token and `traceparent`, and retries do not count it. It happens above the transport, so each try passes
/// pacer, limiter and breaker on its own. The first response with a status other than 408, 429 or 5xx (501 and 505 are
/// acceptable) becomes that of the attempt. The other tries are cancelled, which closes their connections over
/// HTTP/1.1. A try that fails is followed by the next at once. If all fail, the first failure is that of the attempt.
/// No hedge is sent after a `Retry-After`, while the server's circuit is not closed, or while the limiter has no room.
///
/// Two copies of a request may be in flight at once. Only GET, HEAD, OPTIONS and QUERY are therefore hedged. In
/// addition, the request must not be `.notIdempotent` or have an `Idempotency-Key`. It must have a replayable body of
/// at most 64 KiB, collect its response and report no progress.
///
/// Each key has its own latency and budget, up to 10,000 keys. Share one hedger among stacks that call the same
/// servers. It may be used from any thread and never blocks. It requires a transport that ends promptly when its task
/// is cancelled, because an attempt ends only when all its tries have.
///
/// ```swift
/// let hedger = try Hedger(delay: .fixed(.milliseconds(200)))
/// var configuration = StackConfiguration()
/// configuration.resilience = Resilience(hedger: hedger)
/// ```
public final class Hedger: Sendable {
  /// The time between two tries. It is at least 10 ms, and at most a quarter of the time left for the attempt.
  public enum Delay: Sendable, Hashable {
    /// The given percentile of the latency of first tries in the last 30 to 60 s. With fewer than 50 samples it is
    /// `fallback`, or no hedge is sent if that is `nil`.
    case percentile(Double, fallback: Duration? = nil)
    /// The given duration.
    case fixed(Duration)
  }

  /// The state of a hedger for one key.
  package struct Status: Sendable, Hashable {
    /// The delay before a hedge; `nil` if none would be sent because too few first tries were measured.
    package let delay: Duration?
    /// The number of hedges that the budget allows now.
    package let budget: Int
  }

  typealias Place = KeyedMachines<HedgingMachine>.Place

  /// The rules for sending hedges, and their budget.
  package let policy: HedgingPolicy
  private let keyRule: ResilienceKeyRule
  private let retryQuota: RetryQuota?
  private let isEligible: @Sendable (HTTPRequest) -> Bool
  private let time: TimeSource
  private let machines: Lock<KeyedMachines<HedgingMachine>>

  /// Creates a hedger without measured latencies and with full budgets.
  ///
  /// By default, it sends one hedge after the 95th percentile of the latency, for at most a twentieth of all requests.
  ///
  /// - Parameters:
  ///   - additional: the maximum number of additional tries: 1 to 4. Default 1.
  ///   - delay: the time between two tries: a percentile above 0 and at most 1, or a duration of 1 ms or more. A
  ///     fallback must be 1 ms or more too. Default: the 95th percentile of the latency of first tries.
  ///   - budgetRatio: the long-term number of hedges per first try: above 0, and at most 1. Default 0.05.
  ///   - budgetBurst: the maximum number of hedges in a burst: 1 to 1,000,000. Default 10.
  ///   - key: returns the text that distinguishes requests to one origin that have separate latencies and budgets.
  ///     Distinguish operations that differ much in latency. Use few distinct values without secrets: values beyond
  ///     10,000 share latency and budget. Default `nil`: all requests to an origin share them.
  ///   - retryQuota: the quota of the retries. No hedge is sent while less than half of an origin's quota is left.
  ///     Default `nil`: no check.
  ///   - time: the time source. Default: the system's.
  ///   - isEligible: selects the requests to hedge among those that may be sent twice. It must not block. Default: all.
  /// - Throws: `ConfigurationError` that names the invalid value.
  public convenience init(
    additional: Int = 1, delay: Delay = .percentile(0.95), budgetRatio: Double = 0.05, budgetBurst: Int = 10,
    key: (@Sendable (TransferRequest) -> String)? = nil, retryQuota: RetryQuota? = nil,
    time: TimeSource = .continuous, isEligible: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
  ) throws(ConfigurationError) {
    let policy = HedgingPolicy(
      additional: additional, delay: delay, budgetRatio: budgetRatio, budgetBurst: budgetBurst)
    try policy.check()
    self.init(policy, key: .of(key), retryQuota: retryQuota, time: time, isEligible: isEligible)
  }

  /// Creates a hedger without measured latencies and with full budgets.
  ///
  /// - Parameters:
  ///   - policy: the rules for sending hedges.
  ///   - key: the rule that decides which requests share latency and budget. Default: requests to the same origin. If
  ///     operations of one origin differ much in latency, give them separate keys.
  ///   - retryQuota: the quota of the retries. No hedge is sent while less than half of an origin's quota is left.
  ///     Default `nil`: no check.
  ///   - time: the time source. Default: the system's.
  ///   - isEligible: selects the requests to hedge among those that may be sent twice. It must not block. Default: all.
  package init(
    _ policy: HedgingPolicy, key: ResilienceKeyRule = .origin, retryQuota: RetryQuota? = nil,
    time: TimeSource = .continuous, isEligible: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
  ) {
    self.policy = policy
    self.retryQuota = retryQuota
    self.isEligible = isEligible
    self.time = time
    keyRule = key
    machines = Lock(KeyedMachines { HedgingMachine(policy) })
  }

  /// Returns the state of the hedger for a key.
  package func status(of key: ResilienceKey) -> Status {
    let now = time.now()
    var machine = machines.withLock { $0.known(key) } ?? HedgingMachine(policy)
    return Status(delay: machine.delay(now: now, left: nil), budget: Int(machine.tokens))
  }

  /// Returns the key of a request; `nil` if the request is not hedged.
  func key(of request: TransferRequest) -> ResilienceKey? {
    guard HedgingPolicy.mayHedge(request), isEligible(request.head) else { return nil }
    return keyRule.key(of: request)
  }

  /// Records that a first try is sent.
  ///
  /// - Returns: the place of the key's machine, and the delay before a hedge.
  func recordFirstTry(_ key: ResilienceKey, left: Duration?) -> (place: Place, delay: Duration?) {
    let now = time.now()
    return machines.withLock { machines in
      let place = machines.place(of: key, now: now)
      return (place, machines[place].recordFirstTry(now: now, left: left))
    }
  }

  /// Records the latency of a first try that got a response, or that lost after that time.
  func learn(_ place: Place, _ latency: Duration) {
    let now = time.now()
    machines.withLock { $0[place].firstTryEnded(after: latency, now: now) }
  }

  /// Takes the price of a hedge from the budget.
  ///
  /// - Returns: the reason for not sending the hedge; `nil` if it was paid for.
  func pay(_ place: Place, _ origin: Origin) -> HedgeVeto? {
    if let retryQuota, 2 * retryQuota.tokens(of: origin) < retryQuota.capacity { return .retryQuota }
    return machines.withLock { $0[place].pay() } ? nil : .budget
  }
}
