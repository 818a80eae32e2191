// SPDX-License-Identifier: Apache-2.0

/// The rules for the pace of requests.
package struct PacingPolicy: Sendable, Hashable {
  /// The pace that the application sets. Default `nil`: none.
  package var pace: Pacer.Pace?
  /// Whether the server's `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) and `X-RateLimit-…` are followed.
  /// Default true.
  package var readsRateLimitFields = true
  /// Whether the `Retry-After` of a 429 or 503 applies to all requests of the key, and not only to the one that
  /// received it. Default true.
  package var sharesRetryAfter = true
  /// The longest that a request waits. Zero: a request that may not be sent yet is refused. Default 60 s.
  package var maximumWait = Duration.seconds(60)
}
