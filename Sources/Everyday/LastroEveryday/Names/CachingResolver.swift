// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A resolver that caches the answers of another resolver until they expire.
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
  private let order: AddressOrder
  private let now: @Sendable () -> Duration
  private let random: RandomSource
  private let state = Lock(State())

  /// Creates a resolver with an empty cache.
  ///
  /// - Parameters:
  ///   - resolver: the resolver that looks up names that are not cached.
  ///   - order: the order in which addresses are returned. Default: the resolver's.
  ///   - time: the clock. Default: the system's.
  ///   - random: the generator for a shuffled order. Default: the system's.
  public init(
    over resolver: any NameResolver, order: AddressOrder = .asGiven, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.resolver = resolver
    self.order = order
    self.random = random
    now = time.now
  }

  /// The number of cached names.
  package var keptNames: Int { state.withLock { $0.memory.count } }

  /// Returns the cached answer, or looks the name up.
  ///
  /// - Throws: `TransportError`: the errors of the other resolver; stage `cancelled` if the task is cancelled.
  public func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    let answer = OneAnswer<Answer>()
    let (step, begun) = ask(name, answer)
    if let begun { begin(name, port: port, id: begun) }
    switch step {
    case .answered(let known), .refresh(let known): return ordered(known, name)
    case .failed(let error): throw error
    case .wait, .lookUp: break
    }
    let found = try await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      if answer.offer(.failure(.cancelled())) { giveUp(name, answer) }
    }.get()
    return ordered(found, name)
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

  private func ordered(_ found: ResolvedName, _ name: HostName) -> ResolvedName {
    let turn = order == .rotated ? state.withLock { $0.memory.turn(of: name) } : 0
    return order.applied(to: found, turn: turn, random: random)
  }

  /// Begins a look-up in an unstructured task, because other requests may wait for it too.
  private func begin(_ name: HostName, port: Int, id: UInt64) {
    let task = Task { [self] in
      do throws(TransportError) {
        end(name, id: id, .success(try await resolver.resolve(name, port: port)))
      } catch {
        end(name, id: id, .failure(error))
      }
    }
    let isWanted = state.withLock { state in
      guard state.lookUps[name]?.id == id else { return false }
      state.lookUps[name]?.task = task
      return true
    }
    // The look-up has ended already, or was abandoned.
    if !isWanted { task.cancel() }
  }

  private func end(_ name: HostName, id: UInt64, _ outcome: Answer) {
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
      state.memory.noteGivenUp(name)
      return state.lookUps.removeValue(forKey: name)?.task
    }
    task?.cancel()
  }

  /// Removes a name from the cache. The result of a look-up in progress is still cached.
  public func flush(_ name: HostName) { state.withLock { $0.memory.forget(name) } }

  /// Removes all names from the cache.
  public func flush() { state.withLock { $0.memory.forgetAll() } }

  /// Removes the name from the cache, and notifies the other resolver.
  public func noteUnreachable(_ name: HostName, port: Int) {
    flush(name)
    resolver.noteUnreachable(name, port: port)
  }
}
