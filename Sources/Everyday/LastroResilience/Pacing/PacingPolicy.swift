// SPDX-License-Identifier: Apache-2.0

/// The rules for the pace of requests.
package struct PacingPolicy: Sendable, Hashable {
  /// The pace that the application sets. Default `nil`: none.
  package let pace: Pacer.Pace?
  /// Whether the server's `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) and `X-RateLimit-…` are followed.
  /// Default true.
  package let readsRateLimitFields: Bool
  /// Whether the `Retry-After` of a 429 or 503 applies to all requests of the key, and not only to the one that
  /// received it. Default true.
  package let sharesRetryAfter: Bool
  /// The treatment of a request that may not be sent yet. Default ``Pacer/WhenClosed/wait``.
  package let whenClosed: Pacer.WhenClosed
  /// The longest that a request waits. Default 60 s.
  package let maximumWait: Duration

  /// Creates a policy.
  package init(
    pace: Pacer.Pace? = nil, readsRateLimitFields: Bool = true, sharesRetryAfter: Bool = true,
    whenClosed: Pacer.WhenClosed = .wait, maximumWait: Duration = .seconds(60)
  ) {
    self.pace = pace
    self.readsRateLimitFields = readsRateLimitFields
    self.sharesRetryAfter = sharesRetryAfter
    self.whenClosed = whenClosed
    self.maximumWait = maximumWait
  }
}
