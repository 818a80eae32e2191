// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// How one request uses the cache: the modes of the Fetch standard.
public enum CacheMode: String, Sendable, Hashable, CaseIterable {
  /// As HTTP has it (RFC 9111): a fresh answer serves, a stale one is validated. The default.
  case standard
  /// Past the cache: nothing is read, and nothing kept (Fetch: `no-store`).
  case noStore
  /// Nothing is read, not even where the server fails; the answer is kept (Fetch: `reload`).
  case reload
  /// What is there is validated first, however fresh, unless the server called it `immutable` (RFC 8246; Fetch:
  /// `no-cache`).
  case revalidate
  /// What is there serves, however old, unless the server forbids that (`no-cache`, `must-revalidate`); else the server
  /// is asked (Fetch: `force-cache`).
  case preferStored
  /// As ``preferStored``, and the server is not asked: where nothing may serve, the answer is 504, and so it is for
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
