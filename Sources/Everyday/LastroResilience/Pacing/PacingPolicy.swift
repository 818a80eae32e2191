// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The rules for the pace of requests.
public struct PacingPolicy: Sendable, Hashable {
  /// A pace that the application sets.
  public struct Pace: Sendable, Hashable {
    /// The long-term number of requests per second.
    package let perSecond: Double
    /// The maximum number of requests in a burst.
    package let burst: Int

    /// Creates a pace.
    ///
    /// - Throws: `ConfigurationError` for a pace below one in a day or above a million in a second, and for a burst
    ///   outside 1…1000000.
    public init(perSecond: Double, burst: Int = 1) throws(ConfigurationError) {
      guard perSecond >= 1 / 86_400.0, perSecond <= 1_000_000 else {
        throw ConfigurationError(
          "perSecond is \(perSecond), out of range (one per day to a million per second)",
          hint: "give the number of requests per second")
      }
      try ConfigurationError.check("burst", burst, atLeast: 1, atMost: 1_000_000)
      self.perSecond = perSecond
      self.burst = burst
    }
  }

  /// The treatment of a request that may not be sent yet.
  public enum WhenClosed: Sendable, Hashable {
    /// The request waits for at most ``PacingPolicy/maximumWait``, and never beyond its deadline.
    case wait
    /// The request fails at once with code `rate_limited`.
    case refuse
  }

  /// The pace that the application sets. Default `nil`: none.
  public var pace: Pace?
  /// Whether the server's `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) and `X-RateLimit-…` are followed.
  /// Default true.
  public var readsRateLimitFields: Bool
  /// Whether the `Retry-After` of a 429 or 503 applies to all requests of the key, and not only to the one that
  /// received it. Default true.
  public var sharesRetryAfter: Bool
  /// The treatment of a request that may not be sent yet. Default ``WhenClosed/wait``.
  public var whenClosed: WhenClosed
  /// The longest that a request waits. Default 60 s.
  public var maximumWait: Duration

  /// Creates a policy.
  public init(
    pace: Pace? = nil, readsRateLimitFields: Bool = true, sharesRetryAfter: Bool = true,
    whenClosed: WhenClosed = .wait, maximumWait: Duration = .seconds(60)
  ) {
    self.pace = pace
    self.readsRateLimitFields = readsRateLimitFields
    self.sharesRetryAfter = sharesRetryAfter
    self.whenClosed = whenClosed
    self.maximumWait = maximumWait
  }
}
