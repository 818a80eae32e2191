// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension FailureCode {
  /// A circuit is open: attempts to the server failed, and the next one is not due yet.
  public static let circuitOpen = Self("circuit_open")
  /// The limit of concurrent attempts is reached, and the queue is full or the wait too long.
  public static let concurrencyLimited = Self("concurrency_limited")
  /// The pace that the server or the configuration allows would delay the request for too long.
  public static let rateLimited = Self("rate_limited")
}

extension TransportError {
  /// - Parameter reason: the reason why the circuit is open. Default: attempts of this process failed.
  static func circuitOpen(
    _ key: ResilienceKey, _ wait: Duration, because reason: String = "too many attempts failed"
  ) -> Self {
    Self(
      stage: .policy, code: .circuitOpen,
      message: "the circuit of \(key) is open: \(reason); the next is tried in \(wait.brief)",
      hint: "wait until the server works again, or give CircuitBreaker other options")
  }

  static func concurrencyLimited(_ key: ResilienceKey, inUse: Int, waiting: Int) -> Self {
    Self(
      stage: .policy, code: .concurrencyLimited,
      message: "the limiter of \(key) refused the attempt: \(inUse) are running, \(waiting) wait",
      hint: "send less at once, or give ConcurrencyLimiter a longer queue")
  }

  static func rateLimited(_ key: ResilienceKey, _ wait: Duration, limit: Duration?) -> Self {
    Self(
      stage: .policy, code: .rateLimited,
      message: "the rate limit of \(key) requires a wait of \(wait.brief)"
        + (limit.map { ", and only \($0.brief) are left" } ?? ""),
      hint: "send less often, or raise Timeouts.total or the Pacer's maximumWait")
  }
}
