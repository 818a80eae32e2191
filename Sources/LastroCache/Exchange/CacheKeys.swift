// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// Under what the answer to a request may be kept.
struct CacheKeys: Sendable {
  let keyring: CacheKeyring
  /// For those with the same principal or credentials.
  let own: CacheKey
  /// For anyone.
  let common: CacheKey

  /// `nil` where the request has no URL, OpenSSL no SHA-256, or its connection options a judge or a resolver of
  /// their own: then nothing is kept.
  init?(of request: TransferRequest, principal: String?, _ cache: HTTPCache) async {
    guard let scheme = request.head.scheme, let authority = request.head.authority else { return nil }
    // Objects of a request's own, which have no text that would tell two of them apart: it goes past the cache.
    guard request.connection?.tls.trustJudge == nil, request.connection?.reach.names == nil else { return nil }
    keyring = CacheKeyring(key: await cache.store.digestKey())
    guard let url = try? keyring.digest(ofURL: "\(scheme)://\(authority)\(request.head.path ?? "/")"),
      let partition = try? keyring.partition(of: request, principal: principal, cache.policy.partitioning)
    else { return nil }
    own = CacheKey(url: url, partition: partition)
    common = CacheKey(url: url)
  }
}
