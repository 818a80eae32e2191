// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// Under what the answer to a request may be kept.
struct CacheKeys: Sendable {
  let keyring: CacheKeyring
  /// For those with the same principal or credentials.
  let own: CacheKey
  /// For anyone who asks the same way.
  let common: CacheKey
  /// What of the query does not tell requests apart, as far as is known; `nil` where all of it does.
  let searchRule: NoVarySearch?
  /// Whether the request tells who asks: then the answer is not for anyone, whatever the partitioning.
  let isCredentialed: Bool

  /// `nil` where the request has no URL, OpenSSL no SHA-256, its connection options a judge or a resolver of their
  /// own, or the store does not answer: then nothing is kept.
  init?(of request: TransferRequest, principal: String?, _ cache: HTTPCache, _ visit: StoreVisit) async {
    guard let url = request.url else { return nil }
    // Objects of a request's own, which have no text that would tell two of them apart: it goes past the cache.
    guard request.connection?.tls.trustJudge == nil, request.connection?.reach.names == nil else { return nil }
    guard let key = await visit.ask({ await $0.digestKey() }) else { return nil }
    keyring = CacheKeyring(key: key)
    let (rule, text) = cache.policy.readsNoVarySearch ? cache.searches.rule(of: url) : (nil, url)
    searchRule = rule
    guard let url = try? keyring.digest(ofURL: text),
      let partition = try? keyring.partition(of: request, principal: principal, cache.policy.partitioning),
      let way = try? keyring.way(of: request)
    else { return nil }
    own = CacheKey(url: url, partition: partition)
    common = CacheKey(url: url, partition: way)
    isCredentialed = principal != nil || keyring.isCredentialed(request)
  }
}
