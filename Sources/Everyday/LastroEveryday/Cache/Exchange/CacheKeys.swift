// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// The keys under which the response to a request may be stored.
struct CacheKeys: Sendable {
  let keyring: CacheKeyring
  /// The key for requests with the same principal or credentials.
  let own: CacheKey
  /// The key for anyone who uses the same connection options.
  let common: CacheKey
  /// The known rule for which parts of the query to ignore; `nil` if the whole query counts.
  let searchRule: NoVarySearch?
  /// Whether the request identifies its sender. If so, its response is not for anyone, regardless of the partitioning.
  let isCredentialed: Bool
  /// Whether a response that is not for anyone may be stored.
  let mayStoreOwn: Bool

  /// Returns `nil` if the request has no URL, OpenSSL has no SHA-256, the connection options contain custom objects, or
  /// the store does not respond. Nothing is stored then.
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
