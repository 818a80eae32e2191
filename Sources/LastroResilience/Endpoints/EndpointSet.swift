// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Several servers that offer the same: each attempt goes to one that is healthy and has least to do.
///
/// The choice is made before the base request, for host, signatures, cookies and credentials depend on it. Any thread
/// may use it.
///
/// ```swift
/// let apis = try EndpointSet([try Endpoint("https://eu.example.org"), try Endpoint("https://us.example.org", tier:
/// 1)])
/// let lease = apis.lease()
/// let request = try ResourceRequest(url: "\(lease.origin)/notes")
/// // … fetch it, then:
/// lease.end(.success, latency: .milliseconds(80))
/// ```
public final class EndpointSet: Sendable {
  /// What is known of an endpoint.
  public struct Health: Sendable, Hashable {
    /// The endpoint.
    public let endpoint: Endpoint
    /// Whether it is left alone.
    public let isEjected: Bool
    /// Attempts under way.
    public let inUse: Int
  }

  private let machine: Lock<EndpointMachine>
  private let time: TimeSource
  private let random: RandomSource

  /// Makes a set.
  ///
  /// - Parameters:
  ///   - endpoints: 1 to 1000.
  ///   - policy: how one is chosen. Default ``BalancingPolicy/leastLoaded``.
  ///   - outliers: when one is left alone. Default ``OutlierPolicy/standard``.
  ///   - time: where the time comes from. Default: the system's.
  ///   - random: where randomness comes from. Default: the system's.
  /// - Throws: `ConfigurationError` for no endpoint, and for more than 1000.
  public init(
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

  /// What is known of each, in the order they were given in.
  public func health() -> [Health] {
    let now = time.now()
    return machine.withLock { machine in
      machine.members.map { Health(endpoint: $0.endpoint, isEjected: !$0.isHealthy(now), inUse: $0.inUse) }
    }
  }

  /// Chooses an endpoint for an attempt.
  ///
  /// - Parameter tried: what earlier attempts of the call were sent to, which is avoided where there are others.
  public func lease(avoiding tried: [Endpoint] = []) -> EndpointLease {
    let now = time.now()
    let units = (random.unit(), random.unit())
    let (index, endpoint) = machine.withLock { machine in
      let avoided = Set(machine.members.indices.filter { tried.contains(machine.members[$0].endpoint) })
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

/// An endpoint for one attempt, from an ``EndpointSet``. It cannot be copied, and goes back by itself where it is
/// dropped.
public struct EndpointLease: ~Copyable, Sendable {
  /// The endpoint.
  public let endpoint: Endpoint
  private let set: EndpointSet
  private let index: Int
  private var isOut = true

  /// Where the attempt goes.
  public var origin: Origin { endpoint.origin }

  init(set: EndpointSet, index: Int, endpoint: Endpoint) {
    self.set = set
    self.index = index
    self.endpoint = endpoint
  }

  /// Tells how the attempt ended.
  ///
  /// - Parameters:
  ///   - verdict: what it says of the server.
  ///   - latency: how long the answer took.
  public consuming func end(_ verdict: AttemptVerdict, latency: Duration) {
    isOut = false
    set.end(index, verdict, latency)
  }

  deinit {
    if isOut { set.end(index, .ignored, .zero) }
  }
}
