// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The way in which a request was answered in a stack with a cache.
///
/// ```swift
/// if response.facts.cache == .staleServed { logger.warning("the response is old") }
/// ```
///
/// The response's `Age` field has its age. More cases may be added: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum CacheOutcome: String, Sendable, Hashable {
  /// The response came from the cache.
  case hit
  /// The response came from the cache, after the server confirmed that it is still valid.
  case revalidated
  /// The response came from the server.
  case missed
  /// The response came from the cache, although it is no longer fresh.
  case staleServed = "stale_served"
  /// The request skipped the cache and went to the server. With ``CacheMode/onlyStored``, nothing answered it: the
  /// status is 504.
  case bypassed
}

extension TransferFacts {
  /// The way in which the cache answered the request; `nil` if the stack has no cache.
  ///
  /// The cache's note in `notes` has the details, in the form of a member of the `Cache-Status` field (RFC 9211) with
  /// the age added, such as `Lastro; hit; ttl=376; age=24`.
  public var cache: CacheOutcome? { cacheReport?.outcome }
}
