// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A set of equivalent servers: each attempt goes to a healthy one with little load.
///
/// The choice precedes the construction of the request, because host, signatures, cookies and credentials depend on it.
/// It may be used from any thread.
///
/// ```swift
/// let apis = try EndpointSet(["https://eu.example.org"], backups: ["https://us.example.org"])
/// let notes = try await apis.withEndpoint { origin in
///   try await stack.fetch(.get("\(origin)/notes", as: [Note].self)).value
/// }
/// ```
public final class EndpointSet: Sendable {
  /// The current health of an endpoint.
  package struct Health: Sendable, Hashable {
    /// The endpoint.
    package let endpoint: Endpoint
    /// Whether the endpoint is ejected.
    package let isEjected: Bool
    /// The number of attempts in flight.
    package let inUse: Int
  }

  private let machine: Lock<EndpointMachine>
  private let time: TimeSource
  private let random: RandomSource

  /// Creates a set. The healthy endpoint with the least load is chosen. Five consecutive failures eject an endpoint.
  ///
  /// - Parameters:
  ///   - urls: the absolute `http` or `https` URLs of the servers; everything after a port is ignored.
  ///   - backups: the URLs of servers that are used only while none of `urls` is healthy. Default: none. Both lists
  ///     together have 1 to 1000 servers.
  ///   - time: the time source. Default: the system's.
  ///   - random: the source of random numbers. Default: the system's.
  /// - Throws: `ConfigurationError` for no server, for more than 1000, and for an invalid URL.
  public convenience init(
    _ urls: [String], backups: [String] = [], time: TimeSource = .continuous, random: RandomSource = .system
  ) throws(ConfigurationError) {
    var endpoints: [Endpoint] = []
    for url in urls { endpoints.append(try Endpoint(url)) }
    for url in backups { endpoints.append(try Endpoint(url, tier: 1)) }
    try self.init(endpoints, outliers: .standard, time: time, random: random)
  }

  package init(
    _ endpoints: [Endpoint], policy: BalancingPolicy = .leastLoaded, outliers: OutlierPolicy = .standard,
    time: TimeSource = .continuous, random: RandomSource = .system
  ) throws(ConfigurationError) {
    guard (1...1000).contains(endpoints.count) else {
      throw ConfigurationError(
        "an endpoint set of \(endpoints.count) endpoints cannot work", hint: "give 1 to 1000 endpoints")
    }
    machine = Lock(EndpointMachine(endpoints, policy: policy, outliers: outliers))
    self.time = time
    self.random = random
  }

  /// Returns the health of each endpoint, in the order in which they were given.
  package func health() -> [Health] {
    let now = time.now()
    return machine.withLock { machine in
      machine.members.map { Health(endpoint: $0.endpoint, isEjected: !$0.isHealthy(now), inUse: $0.inUse) }
    }
  }

  /// Chooses a server, runs a fetch from it, and records the latency and the end of the fetch for later choices.
  ///
  /// A failed fetch counts against the server if its last attempt got 408 or 5xx other than 501 and 505, or if its
  /// connection failed or timed out. A fetch that failed locally or was cancelled has no effect, nor has an error that
  /// is no `HTTPFetchError`.
  ///
  /// - Parameters:
  ///   - tried: the origins of earlier fetches for the same purpose, which are avoided if there are others. Default:
  ///     none.
  ///   - fetch: fetches from the server of the given origin. It is called once, on the task of the caller.
  /// - Returns: the value that `fetch` returns.
  /// - Throws: the error that `fetch` throws.
  public func withEndpoint<Value, Failure: Error>(
    avoiding tried: [Origin] = [], _ fetch: (Origin) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let lease = lease(avoiding: tried)
    let start = time.now()
    do throws(Failure) {
      let value = try await fetch(lease.origin)
      lease.end(.success, latency: time.now() - start)
      return value
    } catch {
      let outcome = (error as? any OutcomeTelling)?.outcome ?? .silent
      lease.end(outcome.verdict, latency: time.now() - start)
      throw error
    }
  }

  /// Chooses an endpoint for an attempt.
  ///
  /// - Parameter tried: the origins of earlier attempts of the same call, which are avoided if there are others.
  package func lease(avoiding tried: [Origin] = []) -> EndpointLease {
    let now = time.now()
    let units = (random.unit(), random.unit())
    let (index, endpoint) = machine.withLock { machine in
      let avoided = Set(machine.members.indices.filter { tried.contains(machine.members[$0].endpoint.origin) })
      var next = units.0
      let index = machine.choose(avoiding: avoided, now: now) {
        defer { next = units.1 }
        return next
      }
      return (index, machine.members[index].endpoint)
    }
    return EndpointLease(set: self, index: index, endpoint: endpoint)
  }

  func end(_ index: Int, _ verdict: AttemptVerdict, _ latency: Duration) {
    let now = time.now()
    machine.withLock { $0.end(index, verdict, latency: latency, now: now) }
  }
}
