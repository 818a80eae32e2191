// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroResilience
internal import LastroSupport
internal import Logging

/// A quota that the instances of a service share: see `Pacer.shared`.
final class SharedQuota: SharedPace {
  private struct State {
    var machine: QuotaMachine
    /// The requests that wait for a unit.
    var waiters: [UInt64: OneAnswer<Void>] = [:]
    var lastID: UInt64 = 0
    var timer: (id: UInt64, until: Duration, isForWaiters: Bool, task: Task<Void, Never>)?
    /// The notes about the store that the next request reports.
    var notes = StoreNotes()
    /// The state in the store as of the latest response, and the time at which that arrived.
    var seen: (stored: StoredValue, at: Duration)?

    /// Returns whether the timer fires at a time or earlier. If it is overdue, that is not known: its task may have begun
    /// to sleep late.
    func isTimerSet(for next: Duration, now: Duration) -> Bool {
      timer.map { now < $0.until && $0.until <= next } ?? false
    }
  }

  private enum Failure: Error {
    case store(FleetStoreError)
    /// Other instances changed the state each time.
    case contended
  }

  /// The time after which a response is not relied on any more: clocks differ in pace. It is longer than the pause
  /// between two exchanges of an idle instance.
  private static let freshness = Duration.seconds(90)
  /// The number of times that a change is tried while others change the state.
  private static let tries = 6

  private let name: String
  private let store: any FleetStore
  private let logger: Logger
  private let time: TimeSource
  private let random: RandomSource
  private let state: Lock<State>

  init(
    _ name: String, in store: any FleetStore, _ terms: QuotaTerms, logger: Logger, time: TimeSource,
    random: RandomSource
  ) {
    self.name = name
    self.store = store
    self.logger = logger
    self.time = time
    self.random = random
    let instance = String(UInt64.random(in: 0 ... .max), radix: 16)
    state = Lock(State(machine: QuotaMachine(terms, instance: instance, now: time.now())))
    act()
  }

  deinit { state.withLock { $0.timer }?.task.cancel() }

  // MARK: Requests

  var instances: Int {
    state.withLock { $0.machine.terms.instances ?? $0.machine.members }
  }

  func take() -> SharedTaking {
    let (isTaken, notes, mustAct) = state.withLock { state in
      let now = time.now()
      let isTaken = state.machine.ask(now: now)
      let mustAct = state.machine.nextEvent(now: now).map { !state.isTimerSet(for: $0, now: now) } ?? false
      return (isTaken, isTaken ? state.notes.take() : [], mustAct)
    }
    if mustAct { act() }
    return isTaken ? .taken(notes) : .refused(wait: .zero)
  }

  func take(within limit: Duration) async -> SharedTaking {
    let answer = OneAnswer<Void>()
    let start = time.now()
    let (id, least) = state.withLock { state in
      let least = state.machine.leastWait(now: start)
      guard limit > .zero, least <= limit else { return (nil as UInt64?, least) }
      state.lastID += 1
      state.machine.wait(state.lastID)
      state.waiters[state.lastID] = answer
      return (state.lastID, least)
    }
    guard let id else { return .refused(wait: least) }
    act()
    let outcome = await interruptible(within: limit, time: time) { await answer.wait() }
    let (hasWaited, isLost, left) = state.withLock { state in
      let isWaiting = state.waiters.removeValue(forKey: id) != nil
      if isWaiting { state.machine.cancel(id) }
      return (!isWaiting, state.machine.isLost, state.machine.leastWait(now: time.now()))
    }
    // Release the task that waits for it.
    answer.give(())
    if case .failure(.cancelled) = outcome {
      if hasWaited { giveBack() }
      return .cancelled
    }
    guard hasWaited else { return .refused(wait: left) }
    let waited = time.now() - start
    let why = isLost ? ", whose store is lost" : ""
    let note = TransferFacts.Note(
      "quota", detail: isLost ? "unshared" : "shared",
      text: "waited \(waited.brief) for the shared quota \(name)\(why)", wait: waited)
    return .taken(state.withLock { $0.notes.take() } + [note])
  }

  func giveBack() {
    state.withLock { $0.machine.giveBack(now: time.now()) }
    act()
  }

  func block(for duration: Duration) {
    guard duration > .zero else { return }
    state.withLock { $0.machine.block(for: duration, now: time.now()) }
    act()
  }

  func words() -> String {
    let (machine, now) = state.withLock { ($0.machine, time.now()) }
    var words = "\(machine.terms.perSecond) requests a second, shared as \(name)"
    words += "; \(machine.available(now: now)) can be sent now"
    let block = machine.block(now: now)
    if block > .zero { words += "; closed for \(block.brief) by a server" }
    if machine.isLost { words += "; the store is lost, \(machine.terms.withoutStore)" }
    return words
  }

  /// Gives back what this instance holds.
  func leave() async {
    let request = state.withLock { state in
      state.machine.hasLeft ? nil : state.machine.leave(now: time.now())
    }
    guard let request else { return }
    let terms = state.withLock { $0.machine.terms }
    _ = await exchange(request, terms)
  }

  // MARK: Exchanges

  /// Does what is due, and sets the timer for what is due next.
  private func act() {
    let (answers, exchange) = state.withLock { state in
      let now = time.now()
      let answers = state.machine.admitted(now: now).compactMap { state.waiters.removeValue(forKey: $0) }
      let exchange = state.machine.exchange(now: now).map { (request: $0, start: now) }
      setTimer(&state, now)
      return (answers, exchange)
    }
    for answer in answers { answer.give(()) }
    if let exchange { Task { await perform(exchange.request, since: exchange.start) } }
  }

  private func setTimer(_ state: inout State, _ now: Duration) {
    guard let next = state.machine.nextEvent(now: now) else { return }
    let isForWaiters = !state.waiters.isEmpty
    if let timer = state.timer {
      guard !state.isTimerSet(for: next, now: now) || isForWaiters && !timer.isForWaiters else { return }
      timer.task.cancel()
    }
    // A clock may round less than this to nothing, and would then be asked over and over.
    let wait = max(.microseconds(1), next - now)
    state.lastID += 1
    let id = state.lastID
    let task = Task { [weak self, time] in
      // A test's clock advances for requests that wait, and not for an instance that is idle.
      do { try await isForWaiters ? time.sleep(wait) : time.limit(wait) } catch { return }
      guard let self else { return }
      let isCurrent = self.state.withLock { state in
        guard state.timer?.id == id else { return false }
        state.timer = nil
        return true
      }
      if isCurrent { act() }
    }
    state.timer = (id, next, isForWaiters, task)
  }

  private func perform(_ request: QuotaRecord.Request, since start: Duration) async {
    let terms = state.withLock { $0.machine.terms }
    let result = await exchange(request, terms)
    let jitter = random.unit()
    let change: StoreChange? = state.withLock { state in
      let now = time.now()
      switch result {
      case .success(let reply):
        let wasLost = state.machine.exchanged(request, reply, start: start, now: now, jitter: jitter)
        guard wasLost else { return nil }
        let change = StoreChange.back("the shared quota \(name)")
        state.notes.add(change)
        return change
      case .failure(let failure):
        var cause: FleetStoreError?
        if case .store(let error) = failure { cause = error }
        let isNew = state.machine.failed(request, isLost: cause != nil, now: now, jitter: jitter)
        guard let cause, isNew else { return nil }
        let change = StoreChange.lost("the shared quota \(name)", "is lost, \(terms.withoutStore)", because: cause)
        state.notes.add(change)
        return change
      }
    }
    change?.log(to: logger)
    act()
  }

  /// Changes the state in the store. What others changed meanwhile is taken into account.
  ///
  /// It costs one round trip if no other instance has changed the state since the latest exchange of this one.
  private func exchange(
    _ request: QuotaRecord.Request, _ terms: QuotaTerms
  ) async -> Result<QuotaRecord.Reply, Failure> {
    let key = "quota:\(name)"
    do throws(FleetStoreError) {
      var guess = remembered()
      var stored = if let guess { guess } else { try await read(key) }
      for attempt in 0...Self.tries {
        let (next, reply) = QuotaRecord.exchange(
          try .decoded(stored.bytes), request, terms, at: stored.time, change: .random(in: 0 ... .max))
        if next == nil, guess != nil {
          // Others may have given units or reported a block.
          guess = nil
          stored = try await read(key)
          continue
        }
        guess = nil
        guard let bytes = try next?.encoded() else { return .success(reply) }
        stored = try await store.set(
          key, to: bytes, ifCurrently: stored.bytes, expiresAfter: QuotaRecord.absence * 2)
        remember(stored)
        if stored.bytes == bytes { return .success(reply) }
        // Instances that collided do not try again together.
        let pause = Duration.milliseconds(1 << attempt) * random.unit()
        if attempt > 0, (try? await time.limit(pause)) == nil { break }
      }
      return .failure(.contended)
    } catch {
      state.withLock { $0.seen = nil }
      return .failure(.store(error))
    }
  }

  private func read(_ key: String) async throws(FleetStoreError) -> StoredValue {
    let stored = try await store.read(key)
    remember(stored)
    return stored
  }

  private func remember(_ stored: StoredValue) { state.withLock { $0.seen = (stored, time.now()) } }

  /// Returns the state that the store has if nothing has changed it, and about the store's time; `nil` if no recent
  /// response is known.
  private func remembered() -> StoredValue? {
    let now = time.now()
    guard let seen = state.withLock({ $0.seen }), now - seen.at < Self.freshness else { return nil }
    return StoredValue(bytes: seen.stored.bytes, time: seen.stored.time + (now - seen.at))
  }
}

extension QuotaTerms {
  /// The consequence of a lost store.
  fileprivate var withoutStore: String {
    instances.map { "and this instance uses its fraction of 1/\($0)" } ?? "and requests wait for it"
  }
}
