// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A set of equivalent servers: each attempt goes to a healthy one with little load.
///
/// Servers with URLs of their own are chosen by ``withEndpoint(avoiding:_:)`` before the request is made, because host,
/// signatures, cookies and credentials depend on the choice. Servers that share a URL are chosen by a stack, for each
/// attempt: see ``EndpointSource/init(of:addresses:)``. A set may be used from any thread.
///
/// ```swift
/// let apis = try EndpointSet(["https://eu.example.org"], backups: ["https://us.example.org"])
/// let notes = try await apis.withEndpoint { origin in
///   try await stack.fetch(.get("\(origin)/notes", as: [Note].self)).value
/// }
/// ```
///
/// The members of a set that follows an ``EndpointSource`` come and go. A new member starts with a tenth of its share of
/// requests, which grows to the whole within 10 s. A member that was removed gets no more requests, and those that it has
/// continue.
public final class EndpointSet: Sendable {
  /// The current health of an endpoint.
  package struct Health: Sendable, Hashable {
    /// The endpoint.
    package let endpoint: Endpoint
    /// Whether the endpoint is ejected.
    package let isEjected: Bool
    /// The number of attempts in flight.
    package let inUse: Int
    /// Whether the endpoint was removed, and only ends its attempts.
    package let isDraining: Bool
  }

  /// The state of discovery.
  struct Discovery {
    var updatedAt: Duration?
    /// The reason why the latest answer changed nothing; `nil` if it is in force.
    var failure: String?
  }

  private struct State {
    var machine: EndpointMachine
    var tried = TriedMembers()
    var discovery = Discovery()
  }

  /// The choice that ``withEndpoint(avoiding:_:)`` has made, for the ledger.
  @TaskLocal static var chosen: EndpointChoice?

  /// The origin that all members share; `nil` if each has its own.
  let sharedOrigin: Origin?
  /// The name of the source of members; `nil` for a fixed list.
  let sourceName: String?
  private let state: Lock<State>
  private let following = Lock(Task<Void, Never>?.none)
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
    state = Lock(State(machine: EndpointMachine(endpoints, policy: policy, outliers: outliers)))
    sharedOrigin = nil
    sourceName = nil
    self.time = time
    self.random = random
  }

  private init(empty source: EndpointSource, time: TimeSource, random: RandomSource) {
    state = Lock(State(machine: EndpointMachine([], policy: .leastLoaded, outliers: .standard)))
    sharedOrigin = source.sharedOrigin
    sourceName = source.name
    self.time = time
    self.random = random
  }

  /// Creates a set whose members a source supplies, and waits for the first of them.
  ///
  /// The set follows the source until it is released. If the source fails, or has no server, the last members stay.
  ///
  /// - Parameters:
  ///   - source: the source of members.
  ///   - limit: the time to wait for the first members. Default 10 s.
  ///   - time: the time source. Default: the system's.
  ///   - random: the source of random numbers. Default: the system's.
  /// - Throws: `TransportError`: stage `resolve`, code `host_not_found`, if there are no members in time, or the source
  ///   has ended without any; stage `cancelled` if the task is cancelled.
  public convenience init(
    following source: EndpointSource, within limit: Duration = .seconds(10), time: TimeSource = .continuous,
    random: RandomSource = .system
  ) async throws(TransportError) {
    self.init(empty: source, time: time, random: random)
    // The first answer that counts; false if there is none.
    let first = OneAnswer<Bool>()
    let task = Task { [weak self] in
      await source.work(time) { [weak self] answer in
        if self?.receive(source.checked(answer)) == true { first.give(true) }
      }
      first.give(false)
    }
    following.withLock { $0 = task }
    let timer = Task {
      try? await time.limit(limit)
      first.give(false)
    }
    let hasMembers = await withTaskCancellationHandler {
      await first.value()
    } onCancel: {
      first.give(false)
    }
    timer.cancel()
    guard hasMembers else {
      throw Task.isCancelled ? .cancelled() : .noMembers(source.name, discovery.failure, within: limit)
    }
  }

  deinit { following.withLock { $0 }?.cancel() }

  /// The state of discovery.
  var discovery: Discovery { state.withLock { $0.discovery } }
  /// The time since the latest list of members.
  var age: Duration? { discovery.updatedAt.map { time.now() - $0 } }

  /// Acts on an answer of the source. Returns whether it has members.
  private func receive(_ answer: EndpointSource.Answer) -> Bool {
    let now = time.now()
    return state.withLock { state in
      switch answer {
      case .members(let members):
        state.machine.replace(members, now: now)
        state.discovery = Discovery(updatedAt: now)
        return true
      case .failure(let reason):
        state.discovery.failure = reason
        return false
      }
    }
  }

  /// Returns the health of each endpoint, in the order in which they were given or found.
  package func health() -> [Health] {
    let now = time.now()
    return state.withLock { state in
      state.machine.members.map {
        Health(
          endpoint: $0.endpoint, isEjected: !$0.isHealthy(now), inUse: $0.inUse, isDraining: $0.isDraining)
      }
    }
  }

  /// Chooses a server, runs a fetch from it, and records the latency and the end of the fetch for later choices.
  ///
  /// A failed fetch counts against the server if its last attempt got 408 or 5xx other than 501 and 505, or if its
  /// connection failed or timed out. A fetch that failed locally or was cancelled has no effect, nor has an error that
  /// is no `HTTPFetchError`.
  ///
  /// If all servers share a URL, the fetch gets its origin, and the stack chooses a server for each attempt.
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
    if let sharedOrigin { return try await fetch(sharedOrigin) }
    let lease = lease(avoiding: tried)
    let start = time.now()
    let choice = lease.choice
    let result: Result<Value, Failure> = await Self.$chosen.withValue(choice) {
      do throws(Failure) { return .success(try await fetch(choice.endpoint.origin)) } catch { return .failure(error) }
    }
    switch result {
    case .success: lease.end(.success, latency: time.now() - start)
    case .failure(let error):
      let outcome = (error as? any OutcomeTelling)?.outcome ?? .silent
      lease.end(outcome.verdict, latency: time.now() - start)
    }
    return try result.get()
  }

  /// Chooses an endpoint for an attempt.
  ///
  /// - Parameter tried: the origins of earlier attempts of the same call, which are avoided if there are others.
  package func lease(avoiding tried: [Origin] = []) -> EndpointLease {
    lease(of: 0) { state in
      guard !tried.isEmpty else { return [] }
      return Set(state.machine.members.filter { tried.contains($0.endpoint.origin) }.map(\.id))
    }
  }

  /// Chooses an endpoint for an attempt of a call. Endpoints with which earlier attempts of the call have failed are
  /// avoided if there are others.
  func lease(forCall callID: UInt64) -> EndpointLease { lease(of: callID) { $0.tried.members(of: callID) } }

  private func lease(of callID: UInt64, _ avoided: (State) -> Set<Int>) -> EndpointLease {
    let now = time.now()
    let units = (random.unit(), random.unit())
    let choice = state.withLock { state in
      var next = units.0
      return state.machine.choose(avoiding: avoided(state), now: now) {
        defer { next = units.1 }
        return next
      }
    }
    return EndpointLease(set: self, choice: choice, callID: callID)
  }

  func end(_ id: Int, _ verdict: AttemptVerdict, _ latency: Duration, of callID: UInt64) {
    let now = time.now()
    state.withLock { state in
      state.machine.end(id, verdict, latency: latency, now: now)
      if verdict == .failure, callID != 0 { state.tried.note(id, of: callID) }
    }
  }
}

/// The members with which attempts of recent calls have failed.
struct TriedMembers: Sendable {
  /// The maximum number of calls. The oldest is dropped.
  static let mostCalls = 1_024

  private var members: [UInt64: Set<Int>] = [:]
  private var order: [UInt64] = []
  private var oldest = 0

  func members(of call: UInt64) -> Set<Int> { members[call] ?? [] }

  mutating func note(_ member: Int, of call: UInt64) {
    if members[call] == nil {
      if order.count < Self.mostCalls {
        order.append(call)
      } else {
        members[order[oldest]] = nil
        order[oldest] = call
        oldest = (oldest + 1) % Self.mostCalls
      }
    }
    members[call, default: []].insert(member)
  }
}

extension TransportError {
  fileprivate static func noMembers(_ source: String, _ reason: String?, within limit: Duration) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound,
      message: "\(source) has no servers within \(limit.brief)" + (reason.map { ": \($0)" } ?? ""),
      hint: "check the source, or give a longer limit")
  }
}
