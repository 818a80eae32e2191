// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// The way in which one request uses the cache: a mode of the Fetch standard.
public enum CacheMode: Sendable, Hashable {
  /// Follows HTTP caching (RFC 9111): a fresh response is served, a stale one is validated. The default.
  case standard
  /// Skips the cache: nothing is read from it, and nothing is stored (Fetch: `no-store`).
  case noStore
  /// Reads nothing from the cache, not even if the server fails, and stores the response (Fetch: `reload`).
  case reload
  /// Validates a stored response before serving it, even a fresh one, unless the server marked it `immutable` (RFC
  /// 8246; Fetch: `no-cache`).
  case revalidate
  /// Serves a stored response of any age, unless the server forbids that (`no-cache`, `must-revalidate`); otherwise
  /// asks the server (Fetch: `force-cache`).
  case preferStored
  /// Like ``preferStored``, but never asks the server. The response is 504 if nothing stored may be served, and for
  /// methods that a cache does not answer, such as POST (Fetch: `only-if-cached`).
  case onlyStored

  var wish: CacheRequest.Wish {
    switch self {
    case .standard: .none
    case .noStore: .bypass
    case .reload: .reload
    case .revalidate: .revalidate
    case .preferStored: .prefer
    case .onlyStored: .only
    }
  }
}
