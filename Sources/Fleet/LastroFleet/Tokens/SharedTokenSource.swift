// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import Logging

/// A source whose tokens are shared by the instances of a service: see `AccessTokenSource.shared`.
final class SharedTokenSource: NotingTokenSource {
  struct Settings: Sendable {
    var name: String
    /// The first key seals, and all open.
    var keys: [SealingKey]
    var lease: Duration
    /// The time for which the store is asked again before it counts as lost.
    var patience: Duration
    var refreshesAlone: Bool
    var logger: Logger
    var time: TimeSource
  }

  private typealias Work = Task<Result<AccessToken, any Error>, Never>

  private struct State {
    var sharing: TokenSharing
    /// The number of calls of ``forget()``. Results of work from before the latest one have no effect.
    var epoch: UInt64 = 0
    /// The current refresh. It continues if its callers are cancelled, because a new pair must not be lost.
    var work: (id: UInt64, task: Work)?
    var lastID: UInt64 = 0
    /// The task that writes a pair into the store later.
    var saving: Task<Void, Never>?
    var isLost = false
    /// The notes about the store that the next request with a token reports.
    var notes = StoreNotes()
    /// The store's time less this instance's.
    var offset: Duration?
  }

  /// The outcome of looking at the store.
  private enum Look {
    case use(AccessToken)
    case again(Duration)
    /// The announcement was written, as the sealed value. The lease began at the given time of this instance.
    case spend(TokenRecord, sealed: [UInt8], replacing: AccessToken?, asked: Duration)
  }

  private static let retention = Duration.seconds(30 * 86_400)

  private let store: any FleetStore
  private let source: any AccessTokenSource
  private let settings: Settings
  private let key: String
  private let state: Lock<State>

  init(_ source: any AccessTokenSource, store: any FleetStore, _ settings: Settings) {
    self.store = store
    self.source = source
    self.settings = settings
    key = "token:\(settings.name)"
    let instance = String(UInt64.random(in: 0 ... .max), radix: 16)
    state = Lock(State(sharing: TokenSharing(name: settings.name, instance: instance, lease: settings.lease)))
  }

  deinit { state.withLock { $0.saving }?.cancel() }

  private var time: TimeSource { settings.time }

  /// Returns the fleet's new token, or refreshes it for the fleet.
  func token(replacing old: AccessToken?) async throws -> AccessToken {
    while true {
      try Task.checkCancellation()
      let (task, isOurs) = state.withLock { state in
        if let work = state.work { return (work.task, false) }
        state.lastID += 1
        let (id, epoch) = (state.lastID, state.epoch)
        let task = Work { [self] in
          let result: Result<AccessToken, any Error> = await Result { () async throws in
            try await run(replacing: old, epoch)
          }
          self.state.withLock { if $0.work?.id == id { $0.work = nil } }
          return result
        }
        state.work = (id, task)
        return (task, true)
      }
      let outcome = await interruptible(within: nil, time: time) { await task.value }
      guard case .success(let result) = outcome else { throw CancellationError() }
      // A refresh that another call began may have been for an older token.
      if isOurs { return try result.get() }
      if case .success(let token) = result, token.value != old?.value { return token }
    }
  }

  func takeNotes() -> [TransferFacts.Note] { state.withLock { $0.notes.take() } }

  /// Forgets the pair, because the application has set another token, which the next refresh shares.
  func forget() {
    let saving = state.withLock { state in
      state.sharing.forget()
      state.epoch += 1
      state.work = nil
      defer { state.saving = nil }
      return state.saving
    }
    saving?.cancel()
    source.forget()
  }

  // MARK: With the store

  private func run(replacing old: AccessToken?, _ epoch: UInt64) async throws -> AccessToken {
    let isLost = state.withLock { $0.isLost }
    let patience = Countdown(isLost ? .zero : settings.patience, now: time.now)
    while true {
      let look: Result<Look, FleetStoreError> = await Result { () async throws(FleetStoreError) in
        try await self.look(replacing: old, epoch)
      }
      switch look {
      case .success(.use(let token)): return token
      case .success(.again(let pause)): try await time.sleep(pause)
      case .success(.spend(let record, let sealed, let replaced, let asked)):
        return try await spend(record, sealed, replacing: replaced, since: asked, epoch)
      case .failure(let error):
        if error.code == .cancelled { throw CancellationError() }
        let isHopeless = error.code == .unreadable || patience.left ?? .zero <= .zero
        if isHopeless { return try await alone(replacing: old, because: error, epoch) }
        try await time.sleep(.milliseconds(50))
      }
    }
  }

  private func look(replacing old: AccessToken?, _ epoch: UInt64) async throws(FleetStoreError) -> Look {
    // The end of a lease follows from the store's time in this read, so this instance's share of it begins before.
    let asked = time.now()
    let stored = try await store.read(key)
    let record = try record(in: stored)
    reached(at: stored.time)
    let step = try state.withLock { state throws(FleetStoreError) in
      guard state.epoch == epoch else { throw .cancelledOperation }
      return state.sharing.decide(replacing: old, record, at: stored.time)
    }
    switch step {
    case .use(let token): return .use(token)
    case .wait(let left):
      // Instances that wait for the same lease do not look together.
      return .again(min(left, .milliseconds(Int64.random(in: 50...150))))
    case .share(let record):
      let sealed = try record.sealed(with: settings.keys[0])
      _ = try await store.set(
        key, to: sealed, ifCurrently: stored.bytes, expiresAfter: lifetime(of: record, at: stored.time))
      return .again(.zero)
    case .spend(let record, let replaced):
      let sealed = try record.sealed(with: settings.keys[0])
      let after = try await store.set(
        key, to: sealed, ifCurrently: stored.bytes, expiresAfter: lifetime(of: record, at: stored.time))
      guard after.bytes == sealed else { return .again(.zero) }
      return .spend(record, sealed: sealed, replacing: replaced, asked: asked)
    }
  }

  /// Refreshes the token under the lease that was announced.
  private func spend(
    _ record: TokenRecord, _ sealed: [UInt8], replacing old: AccessToken?, since asked: Duration, _ epoch: UInt64
  ) async throws -> AccessToken {
    // The lease ends earlier here than in the store, so that the others do not begin while a request is under way.
    let limit = settings.lease * 3 / 4
    let left = limit - (time.now() - asked)
    guard left > .zero else {
      await replace(sealed, with: record.released)
      throw AccessTokenError.refreshTimedOut(limit)
    }
    let outcome = await interruptible(within: left, ignoringCancellation: true, time: time) {
      [source] () async -> Result<AccessToken, any Error> in
      await Result { () async throws in try await source.token(replacing: old) }
    }
    // The lease is kept after the limit and a cancellation: the request may yet arrive.
    guard case .success(let result) = outcome else { throw AccessTokenError.refreshTimedOut(limit) }
    switch result {
    case .success(let token):
      let now = storeTime()
      let next = state.withLock { state in
        state.epoch == epoch ? state.sharing.succeeded(record, with: token, at: now) : nil
      }
      guard let next else { throw CancellationError() }
      if await !replace(sealed, with: next) { saveLater() }
      return token
    case .failure(let error):
      if !(error is CancellationError) { await replace(sealed, with: record.released) }
      throw error
    }
  }

  /// Writes a state into the store, unless another instance has changed it. Returns whether the store was reached.
  @discardableResult
  private func replace(_ old: [UInt8]?, with record: TokenRecord) async -> Bool {
    do throws(FleetStoreError) {
      let sealed = try record.sealed(with: settings.keys[0])
      _ = try await store.set(
        key, to: sealed, ifCurrently: old, expiresAfter: lifetime(of: record, at: storeTime()))
      return true
    } catch {
      return false
    }
  }

  private func record(in stored: StoredValue) throws(FleetStoreError) -> TokenRecord? {
    guard let bytes = stored.bytes else { return nil }
    return try TokenRecord(sealed: bytes, keys: settings.keys, name: settings.name)
  }

  /// Returns how long a state is kept: a refresh token for a month after its latest use, an access token until it
  /// expires, and the lease in any case.
  private func lifetime(of record: TokenRecord, at now: Duration) -> Duration {
    if record.pair?.refreshToken != nil { return Self.retention }
    let left =
      record.pair?.expiry.map { Duration.milliseconds($0) - now } ?? (record.pair == nil ? .zero : Self.retention)
    return max(left, .zero) + settings.lease * 2
  }

  // MARK: Without the store

  private func alone(
    replacing old: AccessToken?, because error: FleetStoreError, _ epoch: UInt64
  ) async throws -> AccessToken {
    let consequence = settings.refreshesAlone ? "is refreshed by this instance alone" : "is not refreshed"
    let change = StoreChange.lost(
      "the shared token \(settings.name)", "is lost, and the token \(consequence)", because: error)
    let isFirst = state.withLock { state in
      guard !state.isLost else { return false }
      state.isLost = true
      state.notes.add(change)
      return true
    }
    if isFirst { change.log(to: settings.logger) }
    guard settings.refreshesAlone else { throw error }
    let now = storeTime()
    let replaced = state.withLock { $0.sharing.replacedAlone(old, at: now) }
    let token = try await source.token(replacing: replaced)
    let later = storeTime()
    let isCurrent = state.withLock { state in
      guard state.epoch == epoch else { return false }
      _ = state.sharing.succeeded(nil, with: token, at: later)
      return true
    }
    guard isCurrent else { throw CancellationError() }
    saveLater()
    return token
  }

  /// Records that the store was reached.
  private func reached(at now: Duration) {
    let here = time.now()
    let change = StoreChange.back("the shared token \(settings.name)")
    let wasLost = state.withLock { state in
      state.offset = now - here
      guard state.isLost else { return false }
      state.isLost = false
      state.notes.add(change)
      return true
    }
    if wasLost { change.log(to: settings.logger) }
  }

  /// Returns the store's time as far as it is known, and otherwise the system's.
  private func storeTime() -> Duration {
    let now = time.now()
    return state.withLock { $0.offset }.map { now + $0 } ?? time.sinceEpoch()
  }

  /// Writes the pair that only this instance knows into the store as soon as that is reached.
  private func saveLater() {
    let task = Task { [weak self, time] in
      var pause = Duration.milliseconds(500)
      while (try? await time.sleep(pause)) != nil, let self {
        if await save() { return }
        pause = min(pause * 2, .seconds(30))
      }
    }
    let earlier = state.withLock { state in
      defer { state.saving = task }
      return state.saving
    }
    earlier?.cancel()
  }

  /// Returns whether nothing is left to write.
  private func save() async -> Bool {
    do throws(FleetStoreError) {
      let stored = try await store.read(key)
      let found = try record(in: stored)
      reached(at: stored.time)
      let (isAhead, next) = state.withLock { state in
        (state.sharing.isAhead(of: found), state.sharing.shared(found, at: stored.time))
      }
      guard isAhead else { return true }
      guard let next else { return false }
      await replace(stored.bytes, with: next)
      // The next look says whether it was written.
      return false
    } catch {
      return error.code == .unreadable
    }
  }
}

extension TokenRecord {
  /// The same state without the lease.
  fileprivate var released: TokenRecord {
    var record = self
    record.spender = nil
    return record
  }
}
