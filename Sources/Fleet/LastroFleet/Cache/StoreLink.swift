// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import Logging

/// The operations of a cache on its store. A store that fails or hangs is not asked for a while, and a loss is reported
/// once.
final class StoreLink: Sendable {
  private struct State {
    var health = StoreHealth()
    /// The store's time less this instance's date, as of the latest response.
    var offset = Duration.zero
    var notes = StoreNotes()
    var returns: UInt64 = 0
  }

  private typealias Work = Task<Result<StoredValue, FleetStoreError>, Never>

  /// The longest wait for one operation.
  static let limit = Duration.milliseconds(500)

  private let what: String
  private let store: any FleetStore
  private let logger: Logger
  private let time: TimeSource
  private let random: RandomSource
  private let state = Lock(State())

  init(_ what: String, _ store: any FleetStore, logger: Logger, time: TimeSource, random: RandomSource) {
    self.what = what
    self.store = store
    self.logger = logger
    self.time = time
    self.random = random
  }

  /// The store's time less this instance's date.
  var offset: Duration { state.withLock { $0.offset } }

  /// The number of times that the store came back, perhaps without its data.
  var returns: UInt64 { state.withLock { $0.returns } }

  /// The phrase about a lost store; `nil` if operations succeed.
  var loss: String? {
    let health = state.withLock { $0.health }
    if health.isLost { return "the store is lost" }
    return health.isRefusing ? "the store refuses changes" : nil
  }

  func takeNotes() -> [TransferFacts.Note] { state.withLock { $0.notes.take() } }

  /// Returns the value of a key; `nil` if the store is lost or the task is cancelled.
  func read(_ key: String) async -> StoredValue? {
    await perform(isChange: false) { store throws(FleetStoreError) in try await store.read(key) }
  }

  /// Changes the value of a key as `FleetStore.set` does; `nil` if the store is lost or refuses changes, the task is
  /// cancelled, or a wait of the caller's own is over.
  ///
  /// - Parameters:
  ///   - evenIfLost: whether the store is asked although it counts as lost.
  ///   - missed: is called with the value if that arrives after the end of this call.
  func set(
    _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, for lifetime: Duration, within wait: Duration? = nil,
    evenIfLost: Bool = false, missed: (@Sendable (StoredValue) async -> Void)? = nil
  ) async -> StoredValue? {
    await perform(isChange: true, within: wait, evenIfLost, missed: missed) { store throws(FleetStoreError) in
      try await store.set(key, to: new, ifCurrently: old, expiresAfter: lifetime)
    }
  }

  private func perform(
    isChange: Bool, within wait: Duration? = nil, _ evenIfLost: Bool = false,
    missed: (@Sendable (StoredValue) async -> Void)? = nil,
    _ operation: @escaping @Sendable (any FleetStore) async throws(FleetStoreError) -> StoredValue
  ) async -> StoredValue? {
    guard state.withLock({ $0.health.mayAsk(isChange: isChange, now: time.now()) }) || evenIfLost else { return nil }
    // The operation continues after the limit, so that the store finds out itself that a connection is dead.
    let work = Work { [store] in
      await Result { () async throws(FleetStoreError) in try await operation(store) }
    }
    // The outcome is recorded also if the caller leaves: a store that hangs would never count as lost otherwise.
    let outcome = Task { [self] in await completed(work, isChange: isChange) }
    if case .success(let value?) = await interruptible(within: wait, time: time, { await outcome.value }) {
      return value
    }
    if let missed { Task { if case .success(let value) = await work.value { await missed(value) } } }
    return nil
  }

  /// Returns the value of an operation, and records whether the store responds in time.
  private func completed(_ work: Work, isChange: Bool) async -> StoredValue? {
    switch await interruptible(within: Self.limit, time: time, { await work.value }) {
    case .failure(.cancelled): return nil
    case .failure(.limit):
      failed(
        FleetStoreError(
          .timedOut, "an operation took longer than \(Self.limit.brief)", hint: "look at the load of the store"),
        isChange: isChange)
      return nil
    case .success(.success(let value)):
      succeeded(value, isChange: isChange)
      return value
    case .success(.failure(let error)):
      if error.code != .cancelled { failed(error, isChange: isChange) }
      return nil
    }
  }

  private func succeeded(_ value: StoredValue, isChange: Bool) {
    let date = time.sinceEpoch()
    let change: StoreChange? = state.withLock { state in
      state.offset = value.time - date
      guard state.health.succeeded(isChange: isChange) == .back else { return nil }
      state.returns += 1
      let change = StoreChange.back(what)
      state.notes.add(change)
      return change
    }
    change?.log(to: logger)
  }

  private func failed(_ error: FleetStoreError, isChange: Bool) {
    let jitter = random.unit()
    let isRefusal = isChange && error.code == .refused
    let consequence =
      isRefusal ? "refuses changes, and new responses are not shared" : "is lost, and nothing is shared"
    let change = StoreChange.lost(what, consequence, because: error)
    let isNew = state.withLock { state in
      guard state.health.failed(isRefusal: isRefusal, now: time.now(), jitter: jitter) == .lost else { return false }
      state.notes.add(change)
      return true
    }
    if isNew { change.log(to: logger) }
  }
}
