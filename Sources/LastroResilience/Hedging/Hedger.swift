// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroSupport

/// Sends a request that takes long a second time, and takes the answer that comes first.
///
/// It is a second run of the sending half of an attempt: below interceptors, so that both carry the same signature,
/// token and `traceparent`, and retries do not count it; and above the transport, so that each try passes pacer,
/// limiter and breaker by itself. The first answer that is no 408, 429 nor 5xx (but 501 and 505) is the attempt's, and
/// the others are cancelled: over HTTP/1.1 that closes their connections. A try that fails is followed by the next at
/// once. Where all fail, the first failure is the attempt's. There are no hedges after a `Retry-After`, to a server
/// whose circuit is not closed, and where the limiter has no room.
///
/// Two of the same may be under way at once. So hedged are only GET, HEAD, OPTIONS and QUERY whose request is not
/// `.notIdempotent` and has no `Idempotency-Key`, with a body of 64 KiB at most that can be sent again, whose answer is
/// collected and whose progress is not watched.
///
/// Each key has latency and budget of its own, of at most 10,000. Share one hedger among stacks that call the same
/// servers. Any thread may use it; nothing in it waits. What it needs: a transport that ends promptly when its task is
/// cancelled, for an attempt is over when all its tries are.
///
/// ```swift
/// let stack = TransportNetworkStack(transport: ResilientTransport(over: engine, Resilience(hedger: Hedger())))
/// ```
public final class Hedger: Sendable {
  /// What a hedger knows of a key.
  public struct Status: Sendable, Hashable {
    /// How long a first try has to itself now; `nil` where there would be no hedge, for too few first tries are known.
    public let delay: Duration?
    /// Hedges that could be paid for now.
    public let budget: Int
  }

  typealias Place = KeyedMachines<HedgingMachine>.Place

  /// When hedges are sent, and what they may cost.
  public let policy: HedgingPolicy
  private let keyRule: ResilienceKeyRule
  private let retryQuota: RetryQuota?
  private let isEligible: @Sendable (HTTPRequest) -> Bool
  private let time: TimeSource
  private let machines: Lock<KeyedMachines<HedgingMachine>>

  /// Makes a hedger that knows no latency, with full budgets.
  ///
  /// - Parameters:
  ///   - policy: when hedges are sent. Default ``HedgingPolicy/standard``.
  ///   - key: which requests share latency and budget. Default: those to an origin. Where an origin has operations of
  ///     very different length, tell them apart.
  ///   - retryQuota: that of the retries: while less than half of it is left to an origin, there are no hedges. Default
  ///     `nil`: it is not asked.
  ///   - time: where the time comes from. Default: the system's.
  ///   - isEligible: which of the requests that may be sent twice are hedged. It must not wait. Default: all.
  public init(
    _ policy: HedgingPolicy = .standard, key: ResilienceKeyRule = .origin, retryQuota: RetryQuota? = nil,
    time: TimeSource = .continuous, isEligible: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
  ) {
    self.policy = policy
    self.retryQuota = retryQuota
    self.isEligible = isEligible
    self.time = time
    keyRule = key
    machines = Lock(KeyedMachines { HedgingMachine(policy) })
  }

  /// What it knows of a key.
  public func status(of key: ResilienceKey) -> Status {
    let now = time.now()
    var machine = machines.withLock { $0.known(key) } ?? HedgingMachine(policy)
    return Status(delay: machine.delay(now: now, left: nil), budget: Int(machine.budget.tokens))
  }

  /// The key of a request; `nil` where it is not hedged.
  func key(of request: TransferRequest) -> ResilienceKey? {
    guard HedgingPolicy.mayHedge(request), isEligible(request.head) else { return nil }
    return keyRule.key(of: request)
  }

  /// A first try is sent.
  ///
  /// - Returns: where its key's machine is, and how long the try has to itself.
  func begin(_ key: ResilienceKey, left: Duration?) -> (place: Place, delay: Duration?) {
    let now = time.now()
    return machines.withLock { machines in
      let place = machines.place(of: key, now: now)
      return (place, machines[place].begin(now: now, left: left))
    }
  }

  /// A first try has been answered, or has lost after so long.
  func learn(_ place: Place, _ latency: Duration) {
    let now = time.now()
    machines.withLock { $0[place].firstTryEnded(after: latency, now: now) }
  }

  /// Takes the price of a hedge.
  ///
  /// - Returns: why there is none; `nil` where it is paid.
  func pay(_ place: Place, _ origin: Origin) -> HedgeVeto? {
    if let retryQuota, 2 * retryQuota.tokens(of: origin) < retryQuota.capacity { return .retryQuota }
    return machines.withLock { $0[place].pay() } ? nil : .budget
  }
}
