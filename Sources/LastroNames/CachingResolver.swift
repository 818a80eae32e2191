// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Keeps the answers of another resolver for as long as they hold.
///
/// | what | is kept for |
/// |---|---|
/// | addresses | their time to live, from 1 s to 1 hour; where it is not known, 60 s |
/// | that a name has none | its time to live, 60 s at most; where it is not known, 5 s |
/// | a failure | 1 s |
///
/// All who ask for one name meanwhile have one look-up, which is cancelled when none of them waits any more. Who asks
/// in the last tenth of the time to live is answered from memory, and has the name looked up anew. Where a look-up
/// fails, addresses serve for an hour longer (RFC 8767), and the name is looked up again 30 s later at the earliest.
/// At most 4,096 names are kept; what ends first gives way. A name is forgotten when none of its addresses could be
/// connected to.
///
/// Ports are not told apart: a resolver whose answer depends on the port is not for it. Any thread may call it.
public final class CachingResolver: NameResolver {
  private typealias Answer = Result<ResolvedName, TransportError>
  private typealias Memory = NameMemory<HostName, ResolvedName, TransportError>

  private struct State {
    var memory = Memory()
    var lookUps: [HostName: LookUp] = [:]
    var nextID: UInt64 = 0
  }

  /// One that is under way, and those that wait for it.
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

  /// Makes one that knows nothing.
  ///
  /// - Parameters:
  ///   - resolver: who is asked for what is not known.
  ///   - order: in which order addresses are given. Default: as the resolver gives them.
  ///   - time: default the system's clock.
  ///   - random: shuffles, where that is the order. Default the system's generator.
  public init(
    over resolver: any NameResolver, order: AddressOrder = .asGiven, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.resolver = resolver
    self.order = order
    self.random = random
    now = time.now
  }

  /// How many names something is kept of.
  public var keptNames: Int { state.withLock { $0.memory.count } }

  /// Answers from memory, or asks.
  ///
  /// - Throws: `TransportError`, the other resolver's; stage `cancelled`, when the task is.
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

  /// - Returns: what becomes of the question, and the number of the look-up that it begins.
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

  /// Not a child of the task that asks: others may wait for it, too.
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
    // Over already, or given up.
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

  /// Forgets a name. What is being looked up is kept when it comes.
  public func flush(_ name: HostName) { state.withLock { $0.memory.forget(name) } }

  /// Forgets all names.
  public func flush() { state.withLock { $0.memory.forgetAll() } }

  /// Forgets the name, and tells the other resolver.
  public func noteUnreachable(_ name: HostName, port: Int) {
    flush(name)
    resolver.noteUnreachable(name, port: port)
  }
}
