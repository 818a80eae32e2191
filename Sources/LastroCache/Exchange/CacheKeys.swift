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
  /// Whether the request tells who sends it: then the response is not for anyone, whatever the partitioning.
  let isCredentialed: Bool
  /// Whether a response that is not for anyone may be stored.
  let mayStoreOwn: Bool

  /// `nil` where the request has no URL, OpenSSL no SHA-256, its connection options objects of their own, or the store
  /// does not answer: then nothing is kept.
  init?(of request: TransferRequest, from sender: CacheSender, _ cache: HTTPCache, _ visit: StoreVisit) async {
    guard let url = request.url, !sender.isUnrepeatable else { return nil }
    guard let key = await visit.ask({ await $0.digestKey() }) else { return nil }
    keyring = CacheKeyring(key: key)
    let (rule, text) = cache.policy.readsNoVarySearch ? cache.searches.rule(of: url) : (nil, url)
    searchRule = rule
    guard let url = try? keyring.digest(ofURL: text),
      let partition = try? keyring.partition(of: sender, cache.policy.partitioning),
      let way = try? keyring.way(of: sender)
    else { return nil }
    let isPersonal = cache.policy.partitioning == .byPrincipal && sender.isCredentialed
    own = CacheKey(url: url, partition: partition, isPersonal: isPersonal)
    common = CacheKey(url: url, partition: way, isPersonal: false)
    isCredentialed = sender.isCredentialed
    mayStoreOwn = sender.mayStoreOwn(cache.policy)
  }
}
