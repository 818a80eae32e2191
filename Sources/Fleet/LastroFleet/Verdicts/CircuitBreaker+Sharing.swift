// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroResilience
public import Logging

extension CircuitBreaker {
  /// Returns a breaker with the same rules that hears of the circuits of all instances that use the same store and name.
  ///
  /// A circuit that one instance opens is a hint to the others: they open theirs if their own last attempts failed, or if
  /// they have made none, and for no longer than their own rules allow. After a break, one instance at a time probes the
  /// server. Each server, or each value of the breaker's `key`, has a circuit of its own.
  ///
  /// ```swift
  /// let breaker = try CircuitBreaker().shared(in: store, as: "shop")
  /// configuration.resilience = Resilience(breaker: breaker)
  /// ```
  ///
  /// An attempt waits for no round trip to the store, except for a probe: at most 500 ms, and never beyond its deadline.
  /// The store is asked at most every 5 s for each circuit with attempts, and every 2 s while attempts fail or the
  /// circuit is not closed. A circuit without attempts costs nothing.
  ///
  /// If the store is lost, each instance follows its own rules alone. The loss and the return are logged once each, and
  /// reported by the next request, in its ledger and metrics.
  ///
  /// - Parameters:
  ///   - store: the store, such as a ``RedisStore`` or a ``FileStore``.
  ///   - name: the name of the circuits in the store: 1 to 40 characters of visible ASCII. Instances whose breakers
  ///     differ in `key` need different names.
  ///   - logger: the logger of losses. Default: a logger with the label `lastro.fleet`.
  /// - Throws: `ConfigurationError` if the breaker is already shared, or the name is out of range.
  public func shared(
    in store: some FleetStore, as name: String, logger: Logger = Logger(label: "lastro.fleet")
  ) throws(ConfigurationError) -> CircuitBreaker {
    try StoreKey.check("name of the circuits", name)
    guard name.utf8.count <= 40 else {
      throw ConfigurationError(
        "the name of the circuits has \(name.utf8.count) characters, above the limit of 40", hint: "give a short name")
    }
    guard shared == nil else {
      throw ConfigurationError("the breaker is already shared", hint: "share a breaker once, and use the result")
    }
    return sharing { time, random in SharedVerdicts(name, in: store, logger: logger, time: time, random: random) }
  }
}
