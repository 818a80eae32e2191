// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
internal import Lastro
internal import LastroResilience
internal import LastroSupport
internal import LastroWire
internal import Logging

/// The circuits that the instances of a service share: see `CircuitBreaker.shared`.
final class SharedVerdicts: SharedCircuits {
  fileprivate struct Circuit: ForgettableMachine {
    var machine: VerdictMachine
    /// The probes that wait for their turn.
    var waiters: [OneAnswer<ProbeTurn>] = []

    func mayBeForgotten(now: Duration) -> Bool { waiters.isEmpty && machine.mayBeForgotten(now: now) }
  }

  private typealias Place = KeyedMachines<Circuit>.Place

  fileprivate struct State {
    var circuits: KeyedMachines<Circuit>
    var isLost = false
    /// The time at which a change was refused last. A store that is full can be read.
    var changeFailed: Duration?
    /// The notes about the store that the next request reports.
    var notes = StoreNotes()
  }

  private enum Failure: Error {
    case store(FleetStoreError, wasWriting: Bool)
    /// Other instances changed the state each time.
    case contended
  }

  /// The number of times that a change is tried while others change the state.
  private static let tries = 6
  /// The time after a refused change from which reading alone shows that the store is back.
  fileprivate static let doubt = Duration.seconds(60)
  /// The length of keys that every store accepts.
  private static let longestKey = 80

  private let name: String
  private let store: any FleetStore
  private let logger: Logger
  private let time: TimeSource
  private let random: RandomSource
  private let state: Lock<State>

  init(_ name: String, in store: any FleetStore, logger: Logger, time: TimeSource, random: RandomSource) {
    self.name = name
    self.store = store
    self.logger = logger
    self.time = time
    self.random = random
    let instance = String(UInt64.random(in: 0 ... .max), radix: 16)
    state = Lock(
      State(circuits: KeyedMachines { Circuit(machine: VerdictMachine(instance: instance, now: time.now())) }))
  }

  // MARK: Attempts

  func attempt(on key: ResilienceKey, isClosed: Bool, now: Duration) -> CircuitNews {
    let (news, due) = state.withLock { state in
      let place = state.circuits.place(of: key, now: now)
      // The keys beyond the limit of a breaker are not shared.
      guard place.key != nil else { return (CircuitNews(), nil as Due?) }
      let verdict = state.circuits[place].machine.attempt(isClosed: isClosed, now: now)
      return (CircuitNews(verdict: verdict, notes: state.notes.take()), state.due(place, now))
    }
    perform(due)
    return news
  }

  func attemptFailed(on key: ResilienceKey) { change(key) { machine, _ in machine.attemptFailed() } }

  func circuitOpened(_ key: ResilienceKey, for left: Duration) {
    change(key) { machine, now in machine.report(.opened(left: left), now: now) }
  }

  func circuitClosed(_ key: ResilienceKey) { change(key) { machine, now in machine.report(.closed, now: now) } }

  private func change(_ key: ResilienceKey, _ change: (inout VerdictMachine, Duration) -> Void) {
    let now = time.now()
    perform(
      state.withLock { state in
        let place = state.circuits.place(of: key, now: now)
        guard place.key != nil else { return nil }
        change(&state.circuits[place].machine, now)
        return state.due(place, now)
      })
  }

  func turn(toProbe key: ResilienceKey, for length: Duration, within limit: Duration) async -> ProbeTurn {
    let answer = OneAnswer<ProbeTurn>()
    let now = time.now()
    let (known, due) = state.withLock { state in
      let place = state.circuits.place(of: key, now: now)
      guard place.key != nil else { return (ProbeTurn.taken as ProbeTurn?, nil as Due?) }
      let known = state.circuits[place].machine.askTurn(for: length, now: now)
      if known == nil { state.circuits[place].waiters.append(answer) }
      return (known, state.due(place, now))
    }
    perform(due)
    if let known { return known }
    let outcome = await interruptible(within: limit, time: time) {
      await answer.wait()
      return answer.take() ?? .taken
    }
    // Release the task that waits for it.
    answer.give(.taken)
    switch outcome {
    case .success(let turn): return turn
    case .failure(.cancelled): return .cancelled
    case .failure(.limit): return .taken
    }
  }

  func words() -> String {
    "shared as \(name)" + (state.withLock { $0.isLost } ? "; the store is lost, \(Self.withoutStore)" : "")
  }

  fileprivate static let withoutStore = "and each instance follows its own attempts"

  // MARK: Exchanges

  /// An exchange that is due.
  fileprivate struct Due {
    var place: KeyedMachines<Circuit>.Place
    var request: VerdictRecord.Request
    var start: Duration
  }

  private func perform(_ due: Due?) {
    if let due { Task { await perform(due) } }
  }

  private func perform(_ due: Due) async {
    let result = await exchange(due.request, of: due.place)
    let jitter = random.unit()
    let (change, answers, turn, next) = state.withLock { state in
      let now = time.now()
      var turn: ProbeTurn?
      var change: StoreChange?
      switch result {
      case .success(let (reply, hasWritten)):
        state.circuits[due.place].machine.exchanged(due.request, reply, start: due.start, now: now, jitter: jitter)
        turn = reply.turn
        change = state.reached(name, hasWritten: hasWritten, now)
      case .failure(let failure):
        var cause: FleetStoreError?
        if case .store(let error, let wasWriting) = failure {
          cause = error
          if wasWriting, error.code == .refused { state.changeFailed = now }
          change = state.lost(error, name)
        }
        state.circuits[due.place].machine.failed(
          due.request, isLost: cause != nil, start: due.start, now: now, jitter: jitter)
        turn = cause == nil ? .other(left: VerdictMachine.turnPause) : .taken
      }
      var answers: [OneAnswer<ProbeTurn>] = []
      if turn != nil { swap(&answers, &state.circuits[due.place].waiters) }
      return (change, answers, turn, state.due(due.place, now))
    }
    for answer in answers { if let turn { answer.give(turn) } }
    change?.log(to: logger)
    perform(next)
  }

  /// Changes the state in the store. What others changed meanwhile is taken into account.
  private func exchange(
    _ request: VerdictRecord.Request, of place: Place
  ) async -> Result<(VerdictRecord.Reply, hasWritten: Bool), Failure> {
    guard let key = place.key.flatMap({ Self.storeKey(of: $0, name) }) else { return .success((.init(), false)) }
    var isWriting = false
    do throws(FleetStoreError) {
      var stored = try await store.read(key)
      for attempt in 0..<Self.tries {
        let (next, reply) = VerdictRecord.exchange(
          VerdictRecord(stored.bytes), request, at: stored.time, id: random.next())
        guard let next else { return .success((reply, false)) }
        let bytes = try next.encoded()
        isWriting = true
        stored = try await store.set(
          key, to: bytes, ifCurrently: stored.bytes, expiresAfter: next.lifetime(at: stored.time))
        if stored.bytes == bytes { return .success((reply, true)) }
        // Instances that collided do not try again together.
        let pause = Duration.milliseconds(1 << attempt) * random.unit()
        if attempt > 0, (try? await time.limit(pause)) == nil { break }
      }
      return .failure(.contended)
    } catch {
      return .failure(.store(error, wasWriting: isWriting))
    }
  }

  /// Returns the key of a circuit in the store: its own text, or a hash if that is long or not visible ASCII.
  static func storeKey(of key: ResilienceKey, _ name: String) -> String? {
    let text = key.part.isEmpty ? "\(key.origin)" : "\(key.origin)#\(key.part)"
    let plain = "verdict:\(name):\(text)"
    // A name with a colon could end where another text begins.
    if StoreKey.isValid(plain), plain.utf8.count <= longestKey, !name.contains(":") { return plain }
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    guard clastro_digest_of("SHA256", bytes, bytes.count, &digest, digest.count) else { return nil }
    return "verdict:\(name):\(Base64.encode(Array(digest.prefix(18))))"
  }
}

extension SharedVerdicts.State {
  /// Returns the exchange of a circuit that is due.
  fileprivate mutating func due(_ place: KeyedMachines<SharedVerdicts.Circuit>.Place, _ now: Duration) -> SharedVerdicts
    .Due?
  {
    circuits[place].machine.exchange(now: now).map { SharedVerdicts.Due(place: place, request: $0, start: now) }
  }

  /// Records that the store was reached. Returns the change if it was lost before.
  fileprivate mutating func reached(_ name: String, hasWritten: Bool, _ now: Duration) -> StoreChange? {
    if !hasWritten, let changeFailed, now - changeFailed < SharedVerdicts.doubt { return nil }
    changeFailed = nil
    guard isLost else { return nil }
    isLost = false
    let change = StoreChange.back("the shared circuits \(name)")
    notes.add(change)
    return change
  }

  /// Records that the store was not reached. Returns the change if that is new.
  fileprivate mutating func lost(_ cause: FleetStoreError, _ name: String) -> StoreChange? {
    guard !isLost else { return nil }
    isLost = true
    let change = StoreChange.lost(
      "the shared circuits \(name)", "is lost, \(SharedVerdicts.withoutStore)", because: cause)
    notes.add(change)
    return change
  }
}
