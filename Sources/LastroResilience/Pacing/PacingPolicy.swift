// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// How fast requests go out.
public struct PacingPolicy: Sendable, Hashable {
  /// A pace of one's own.
  public struct Pace: Sendable, Hashable {
    /// Requests a second, in the long run.
    public let perSecond: Double
    /// Most that go out at once.
    public let burst: Int

    /// Makes a pace.
    ///
    /// - Throws: `ConfigurationError` for a pace below one in a day or above a million in a second, and for a burst
    ///   outside 1…1000000.
    public init(perSecond: Double, burst: Int = 1) throws(ConfigurationError) {
      guard perSecond >= 1 / 86_400.0, perSecond <= 1_000_000 else {
        throw ConfigurationError(
          "perSecond is \(perSecond), outside of one in a day to a million in a second",
          hint: "give how many requests may go out in a second")
      }
      try ConfigurationError.check("burst", burst, atLeast: 1, atMost: 1_000_000)
      self.perSecond = perSecond
      self.burst = burst
    }
  }

  /// What becomes of a request that may not go out yet.
  public enum WhenClosed: Sendable, Hashable {
    /// It waits, for ``PacingPolicy/maximumWait`` at most and never beyond its deadline.
    case wait
    /// It fails at once, with code `rate_limited`.
    case refuse
  }

  /// A pace of one's own. Default `nil`: none.
  public var pace: Pace?
  /// Whether the server's `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers), and `X-RateLimit-…`, are followed.
  /// Default true.
  public var readsRateLimitFields: Bool
  /// Whether a `Retry-After` of a 429 or 503 holds for all requests of the key, and not only for the one that got it.
  /// Default true.
  public var sharesRetryAfter: Bool
  /// Default ``WhenClosed/wait``.
  public var whenClosed: WhenClosed
  /// The longest that a request waits. Default 60 s.
  public var maximumWait: Duration

  /// Makes a policy.
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
