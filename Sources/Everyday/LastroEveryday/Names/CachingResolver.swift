// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A resolver that caches the answers of the system, of servers of DNS over HTTPS, or of another resolver until they
/// expire.
///
/// | result | cached for |
/// |---|---|
/// | addresses | their time to live, from 1 s to 1 hour; 60 s if it is unknown |
/// | absence of addresses | its time to live, at most 60 s; 5 s if it is unknown |
/// | a failure | 1 s |
///
/// Concurrent requests for a name share one look-up, which is cancelled when none of them waits any more. A request in
/// the last tenth of the time to live is answered from memory and starts a new look-up. If a look-up fails, expired
/// addresses are used for up to an hour longer (RFC 8767), and the name is looked up again after 30 s at the earliest.
/// At most 4,096 names are cached; those that expire first are evicted. A name is removed if none of its addresses
/// could be connected to.
///
/// Ports are not distinguished, so do not use it with a resolver whose answer depends on the port. It may be called on
/// any thread.
public final class CachingResolver: NameResolver {
  private typealias Answer = Result<ResolvedName, TransportError>
  private typealias Memory = NameMemory<HostName, ResolvedName, TransportError>

  private struct State {
    var memory = Memory()
    var lookUps: [HostName: LookUp] = [:]
    var nextID: UInt64 = 0
  }

  /// A look-up in progress, and the requests that wait for it.
  private struct LookUp {
    let id: UInt64
    var task: Task<Void, Never>?
    var waiters: [ObjectIdentifier: OneAnswer<Answer>] = [:]
  }

  private let resolver: any NameResolver
  private let shufflesAddresses: Bool
  private let now: @Sendable () -> Duration
  private let random: RandomSource
  private let state = Lock(State())

  /// Creates a resolver with an empty cache.
  ///
  /// The system is asked by `getaddrinfo`: `/etc/hosts`, DNS, and any other configured source. It reports no time to
  /// live, so its answers are cached for 60 s. Its look-ups run on separate threads, at most 16 at once per process;
  /// others wait, at most 4,096. Cancelling a task ends its wait immediately; the system's look-up continues.
  ///
  /// - Parameters:
  ///   - resolver: the resolver that looks up names that are not cached. Default `nil`: the system.
  ///   - shufflesAddresses: whether each request gets the addresses in a new random order, to distribute connections
  ///     among the servers behind a name: an engine dials the first address first. Addresses change places only within
  ///     their family. Default false: the resolver's order.
  ///   - time: the clock. Default: the system's.
  ///   - random: the generator for a shuffled order. Default: the system's.
  public init(
    over resolver: (any NameResolver)? = nil, shufflesAddresses: Bool = false, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.resolver = resolver ?? SystemResolver()
    self.shufflesAddresses = shufflesAddresses
    self.random = random
    now = time.now
  }

  /// Creates a resolver with an empty cache that asks servers by DNS over HTTPS (RFC 8484).
  ///
  /// Both families are requested at the same time, by POST, padded to 128 bytes (RFC 8467). If IPv4 addresses arrive
  /// first, the resolver waits up to 50 ms longer for IPv6 (RFC 8305 §3). With several servers, the next one is asked
  /// 500 ms after the previous one, or immediately when one fails, and the first answer is used.
  ///
  /// The time to live of an answer is the smallest of its records, less its age in HTTP caches (`Age`). An answer is
  /// accepted only if it repeats the question byte for byte, and its records belong to the name or to an alias target
  /// of it, over at most 8 aliases. DNSSEC validation is left to the server.
  ///
  /// Requests pass through the whole given stack, with its interceptors, judges and pins, so give the resolver a stack
  /// of its own. That stack cannot get the server's address from this resolver; see <doc:ResolvingNames>.
  ///
  /// ```swift
  /// var direct = CurlConfiguration()
  /// direct.connection.resolve("dns.example", port: 443, to: ["192.0.2.53"])
  /// let stack = try CurlNetworkStack(direct)
  /// configuration.connection.resolver = try CachingResolver(doh: ["https://dns.example/dns-query"], over: stack)
  /// ```
  ///
  /// - Parameters:
  ///   - servers: the URLs of 1 to 4 servers, in the order in which they are asked; a `{?dns}` at the end is dropped.
  ///     They must be `https` URLs, or URLs of this machine.
  ///   - stack: the stack that sends the requests. The timeout includes its retries.
  ///   - timeout: the time limit of a server's answer to a question. Default 5 s.
  ///   - shufflesAddresses: whether each request gets the addresses of a family in a new random order, as for another
  ///     resolver. Default false: the server's order, IPv6 first.
  ///   - time: the clock. Default: the system's.
  ///   - random: the generator for a shuffled order. Default: the system's.
  /// - Throws: `ConfigurationError` for no server or more than 4, an invalid URL, or a timeout that is not positive.
  public convenience init(
    doh servers: [String], over stack: any HTTPNetworkStack, timeout: Duration = .seconds(5),
    shufflesAddresses: Bool = false, time: TimeSource = .continuous, random: RandomSource = .system
  ) throws(ConfigurationError) {
    let names = try DoHResolver(servers, over: stack, timeout: timeout, time: time)
    self.init(over: names, shufflesAddresses: shufflesAddresses, time: time, random: random)
  }

  /// The number of cached names.
  package var keptNames: Int { state.withLock { $0.memory.count } }

  /// Returns the cached answer, or looks the name up.
  ///
  /// - Returns: the addresses; none for a name that does not exist.
  /// - Throws: `TransportError`: the errors of the other resolver; stage `resolve`, code `host_not_found`, if the
  ///   system or all servers fail to answer, and code `invalid_option` for the name of one of its own servers; stage
  ///   `limit`, code `queue_full`, if 4,096 look-ups are in progress; stage `cancelled` if the task is cancelled.
  public func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    let answer = OneAnswer<Answer>()
    let (step, begun) = ask(name, answer)
    if let begun { startLookUp(name, port: port, id: begun) }
    switch step {
    case .answered(let known), .refresh(let known): return ordered(known)
    case .failed(let error): throw error
    case .wait, .lookUp: break
    }
    let found = try await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      if answer.offer(.failure(.cancelled())) { giveUp(name, answer) }
    }.get()
    return ordered(found)
  }

  /// - Returns: the next step for the request, and the id of the look-up to begin, if any.
  private func ask(_ name: HostName, _ answer: OneAnswer<Answer>) -> (Memory.Step, begun: UInt64?) {
    let time = now()
    return state.withLock { state in
      let step = state.memory.ask(name, now: time)
      var begun: UInt64?
      switch step {
      case .lookUp, .refresh:
        state.nextID += 1
        begun = state.nextID
        state.lookUps[name] = LookUp(id: state.nextID)
      case .answered, .failed, .wait: break
      }
      switch step {
      case .lookUp, .wait: state.lookUps[name]?.waiters[answer.id] = answer
      case .answered, .failed, .refresh: break
      }
      return (step, begun)
    }
  }

  private func ordered(_ found: ResolvedName) -> ResolvedName {
    shufflesAddresses ? found.shuffled(by: random) : found
  }

  /// Starts a look-up in an unstructured task, because other requests may wait for it too.
  private func startLookUp(_ name: HostName, port: Int, id: UInt64) {
    let task = Task { [self] in
      let found: Answer = await Result { () async throws(TransportError) in
        try await resolver.resolve(name, port: port)
      }
      endLookUp(name, id: id, found)
    }
    let isWanted = state.withLock { state in
      guard state.lookUps[name]?.id == id else { return false }
      state.lookUps[name]?.task = task
      return true
    }
    // The look-up has ended already, or was abandoned.
    if !isWanted { task.cancel() }
  }

  private func endLookUp(_ name: HostName, id: UInt64, _ outcome: Answer) {
    let time = now()
    let (answer, waiters) = state.withLock { state -> (Answer, [OneAnswer<Answer>]) in
      guard state.lookUps[name]?.id == id, let lookUp = state.lookUps.removeValue(forKey: name) else {
        return (outcome, [])
      }
      var answer = outcome
      switch outcome {
      case .success(let found):
        state.memory.note(
          found, of: name, timeToLive: found.timeToLive, isAbsence: found.addresses.isEmpty, now: time)
      case .failure(let error):
        if let stale = state.memory.note(error, of: name, now: time) { answer = .success(stale) }
      }
      return (answer, Array(lookUp.waiters.values))
    }
    for waiter in waiters { waiter.give(answer) }
  }

  private func giveUp(_ name: HostName, _ answer: OneAnswer<Answer>) {
    let task = state.withLock { state -> Task<Void, Never>? in
      guard state.lookUps[name]?.waiters.removeValue(forKey: answer.id) != nil,
        state.lookUps[name]?.waiters.isEmpty == true
      else { return nil }
      state.memory.abandonLookUp(of: name)
      return state.lookUps.removeValue(forKey: name)?.task
    }
    task?.cancel()
  }

  /// Removes a name from the cache. The result of a look-up in progress is still cached.
  public func flush(_ name: HostName) { state.withLock { $0.memory.forget(name) } }

  /// Removes all names from the cache.
  public func flush() { state.withLock { $0.memory.forgetAll() } }

  /// Removes the name from the cache, and notifies the other resolver.
  public func connectionFailed(to name: HostName, port: Int) {
    flush(name)
    resolver.connectionFailed(to: name, port: port)
  }
}
