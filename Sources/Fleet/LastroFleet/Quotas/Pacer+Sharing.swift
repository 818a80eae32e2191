// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroResilience
public import Logging

extension Pacer {
  /// Returns a pacer whose pace is one quota for all instances of a service that use the same store and name.
  ///
  /// All requests through the pacer count against the quota, whatever their server: use one pacer, with a name of its
  /// own, for each account of an API. A request waits for no round trip to the store: an instance uses its own fraction,
  /// and takes more in advance, as a lease, if others need less. The `Retry-After` of a 429 or 503, and a quota that a
  /// server reports as used up, hold for all instances.
  ///
  /// ```swift
  /// let pacer = try Pacer(perSecond: 50, burst: 500).shared(in: store, as: "github", whenUnshared: .fraction(of: 20))
  /// configuration.resilience = Resilience(pacer: pacer)
  /// ```
  ///
  /// In any period, all instances together send at most `perSecond` requests for each second of it, and `burst` more.
  /// A burst below one second of the pace, or below two requests for each instance, counts as that. An instance that
  /// stalls between taking its turn and sending may send one request later.
  ///
  /// If the store is lost, no request fails because of that: see ``WhenUnshared``. The loss and the return are logged
  /// once each, and reported by the next request, in its ledger and metrics.
  ///
  /// - Parameters:
  ///   - store: the store, such as a ``RedisStore`` or a ``FileStore``.
  ///   - name: the name of the quota in the store: 1 to 60 characters of visible ASCII.
  ///   - whenUnshared: what an instance may send without the store.
  ///   - logger: the logger of losses. Default: a logger with the label `lastro.fleet`.
  /// - Throws: `ConfigurationError` if the pacer has no pace or is already shared, or a value is out of range.
  public func shared(
    in store: some FleetStore, as name: String, whenUnshared: WhenUnshared,
    logger: Logger = Logger(label: "lastro.fleet")
  ) throws(ConfigurationError) -> Pacer {
    try StoreKey.check("quota name", name)
    guard name.utf8.count <= 60 else {
      throw ConfigurationError(
        "the quota name has \(name.utf8.count) characters, above the limit of 60", hint: "give a short name")
    }
    if case .fraction(let count) = whenUnshared, !(1...10_000).contains(count) {
      throw ConfigurationError(
        "fraction(of: \(count)) is out of range (1 to 10000)",
        hint: "give the largest number of instances that run at the same time")
    }
    return try sharing { (pace, time, random) throws(ConfigurationError) in
      guard let pace else {
        throw ConfigurationError(
          "the pacer has no pace to share",
          hint: "make the pacer with a number of requests per second, and share it then")
      }
      return SharedQuota(
        name, in: store, QuotaTerms(pace, whenUnshared), logger: logger, time: time, random: random)
    }
  }

  /// Gives back what this instance holds of a shared quota, before the process ends. Without this call, the store keeps
  /// its fraction for an hour. A pacer that is not shared does nothing.
  ///
  /// It ends when the store has responded or failed. A later request lets the instance return.
  public func leave() async { await (shared as? SharedQuota)?.leave() }
}
