// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
public import Logging

extension AccessTokenSource {
  /// Returns a source with one token for all instances of a service that use the same store, name and key.
  ///
  /// One instance refreshes the token, and the others wait for it and take the new one. A refresh token that rotates is
  /// therefore sent once. Before it is sent, the instance announces that in the store, for the duration of a lease; the
  /// new pair replaces the announcement in one step. If the instance ends in between, the others wait until the lease
  /// is over, and try the same refresh token.
  ///
  /// ```swift
  /// let tokens = try client.refreshToken(first).shared(in: store, as: "github", sealedWith: key)
  /// let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.github.com")])
  /// ```
  ///
  /// A token that the application sets with `BearerAuthenticator.replace(with:)` is shared when it is next refreshed.
  ///
  /// If the store is lost, each instance refreshes the token alone, as without a store, and writes the new pair into
  /// the store when that is back. The loss and the return are logged once each, and reported by the next request that a
  /// `BearerAuthenticator` gives a token, in its ledger and metrics.
  ///
  /// - Parameters:
  ///   - store: the store, such as a ``RedisStore`` or a ``FileStore``.
  ///   - name: the name of the token in the store, for one user of one token endpoint: 1 to 60 characters of visible
  ///     ASCII. Use another name for another login.
  ///   - key: the key that seals the token before it leaves the process.
  ///   - earlierKeys: keys that may have sealed the stored token, while the key is replaced. Default none.
  ///   - lease: the time for which the others wait for the instance that refreshes, 1 s to 10 min. The instance itself
  ///     gives up after three quarters of it. Choose it shorter than the `refreshTimeout` of the authenticator. Default
  ///     20 s.
  ///   - patience: the time for which a store that fails is asked again before it counts as lost. Default 3 s.
  ///   - refreshesAlone: whether each instance refreshes the token alone while the store is lost. With `false`, a
  ///     refresh fails with a ``FleetStoreError``: choose it if the endpoint revokes all tokens when a refresh token is
  ///     sent twice, and calls may fail for that long. Default `true`.
  ///   - logger: the logger of losses. Default: a logger with the label `lastro.fleet`.
  ///   - time: the source of time for waits. Default: the system's.
  /// - Throws: `ConfigurationError` if a value is out of range.
  public func shared(
    in store: some FleetStore, as name: String, sealedWith key: SealingKey, earlierKeys: [SealingKey] = [],
    lease: Duration = .seconds(20), patience: Duration = .seconds(3), refreshesAlone: Bool = true,
    logger: Logger = Logger(label: "lastro.fleet"), time: TimeSource = .continuous
  ) throws(ConfigurationError) -> some AccessTokenSource {
    try StoreKey.check("token name", name)
    guard name.utf8.count <= 60 else {
      throw ConfigurationError(
        "the token name has \(name.utf8.count) characters, above the limit of 60", hint: "give a short name")
    }
    guard (Duration.seconds(1)...Duration.seconds(600)).contains(lease) else {
      throw ConfigurationError(
        "the lease is \(lease.brief), out of range (1 s to 10 min)",
        hint: "give a little more than the token endpoint takes to respond")
    }
    guard patience >= .zero else {
      throw ConfigurationError(
        "the patience is \(patience.brief), below the minimum of 0", hint: "give zero or a positive duration")
    }
    return SharedTokenSource(
      self, store: store,
      SharedTokenSource.Settings(
        name: name, keys: [key] + earlierKeys, lease: lease, patience: patience.countable,
        refreshesAlone: refreshesAlone, logger: logger, time: time))
  }
}
