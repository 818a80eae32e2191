// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
public import Lastro
internal import LastroSupport

/// Spreads requests over time, according to the configuration and the server's rate limits.
///
/// Each key has its own pace, up to 10,000 keys. Share one pacer among stacks that call the same servers with the same
/// credentials. It may be used from any thread.
///
/// ```swift
/// let pacer = try Pacer(perSecond: 10, burst: 5)
/// var configuration = StackConfiguration()
/// configuration.resilience = Resilience(pacer: pacer)
/// ```
public final class Pacer: Sendable {
  /// A pace that the application sets.
  package struct Pace: Sendable, Hashable {
    /// The long-term number of requests per second.
    package let perSecond: Double
    /// The maximum number of requests in a burst.
    package let burst: Int

    /// Creates a pace.
    ///
    /// - Throws: `ConfigurationError` for a pace below one in a day or above a million in a second, and for a burst
    ///   outside 1…1000000.
    package init(perSecond: Double, burst: Int = 1) throws(ConfigurationError) {
      guard perSecond >= 1 / 86_400.0, perSecond <= 1_000_000 else {
        throw ConfigurationError(
          "perSecond is \(perSecond), out of range (one per day to a million per second)",
          hint: "give the number of requests per second")
      }
      try ConfigurationError.check("burst", burst, atLeast: 1, atMost: 1_000_000)
      self.perSecond = perSecond
      self.burst = burst
    }
  }

  /// The state of a pacer for one key.
  package struct Status: Sendable, Hashable {
    /// The size of the server's quota in requests, if the server sends it.
    package let quota: Int?
    /// The number of requests left of the quota; `nil` if the server sends none.
    package let left: Int?
    /// The time until the quota is renewed.
    package let reset: Duration?
    /// The time for which the server asks not to be called; `nil` if it does not.
    package let blocked: Duration?
  }

  /// A slot for a request, to which its response is reported.
  package struct Slot: Sendable {
    let place: Place
    fileprivate let reservation: PacingMachine.Reservation
    /// The request's sequence number among the sent ones; 0 before it is sent.
    fileprivate(set) var number: UInt64 = 0
    /// The time that the request waited.
    package let waited: Duration
  }

  typealias Place = KeyedMachines<PacingMachine>.Place

  /// The immediate result of asking for a slot.
  enum Turn {
    case slot(Slot)
    case wait(Wait)
  }

  /// A reservation of a future slot.
  struct Wait: Sendable {
    fileprivate let place: Place
    fileprivate let reservation: PacingMachine.Reservation
    /// The time of the first request for a slot, and the maximum wait from then on.
    fileprivate let start: Duration
    fileprivate let limit: Duration
    /// The time at which the slot was reserved.
    fileprivate let now: Duration
  }

  /// The rules for the pace of requests.
  package var policy: PacingPolicy { rules.withLock { $0 } }
  let keyRule: ResilienceKeyRule
  private let time: TimeSource
  private let random: RandomSource
  private let rules: Lock<PacingPolicy>
  private let machines: Lock<KeyedMachines<PacingMachine>>
  /// The quota that each request takes a unit of when its slot has come. Default `nil`: none.
  package let shared: (any SharedPace)?

  /// Creates a pacer without known quotas.
  ///
  /// - Parameters:
  ///   - perSecond: the long-term number of requests per second that the application sets, from one in a day to a
  ///     million in a second. Default `nil`: only the server's limits apply.
  ///   - burst: the maximum number of requests in a burst at that pace: 1 to 1,000,000. Default 1.
  ///   - readsRateLimitFields: whether the server's `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) and
  ///     `X-RateLimit-…` are followed. Default true.
  ///   - sharesRetryAfter: whether the `Retry-After` of a 429 or 503 applies to all requests of the key, and not only
  ///     to the one that received it. Default true.
  ///   - maximumWait: the longest that a request waits, and never beyond its deadline. Zero: a request that may not be
  ///     sent yet fails at once, with code `rate_limited`. Default 60 s.
  ///   - key: returns the text that distinguishes requests to one origin that have separate paces, such as the first
  ///     path segment. Use few distinct values without secrets: errors include them, and values beyond 10,000 share a
  ///     pace. `{ _ in "" }` gives one pace to an origin. Default `nil`: requests to an origin with the same
  ///     `Authorization` share a pace, because quotas often apply per credential.
  ///   - time: the time source. Default: the system's.
  ///   - random: a source of jitter, so that requests that wait for the same moment do not start together. Default: the
  ///     system's.
  /// - Throws: `ConfigurationError` for a pace or a burst out of range.
  public convenience init(
    perSecond: Double? = nil, burst: Int = 1, readsRateLimitFields: Bool = true, sharesRetryAfter: Bool = true,
    maximumWait: Duration = .seconds(60), key: (@Sendable (TransferRequest) -> String)? = nil,
    time: TimeSource = .continuous, random: RandomSource = .system
  ) throws(ConfigurationError) {
    // Check the burst even without a pace.
    let pace = try Pace(perSecond: perSecond ?? 1, burst: burst)
    let policy = PacingPolicy(
      pace: perSecond == nil ? nil : pace, readsRateLimitFields: readsRateLimitFields,
      sharesRetryAfter: sharesRetryAfter, maximumWait: max(.zero, maximumWait))
    self.init(policy, key: .of(key, standard: .originAndCredentials), time: time, random: random)
  }

  /// Creates a pacer without known quotas.
  ///
  /// - Parameters:
  ///   - policy: the rules for the pace of requests.
  ///   - key: the rule that decides which requests share a pace. Default: requests to the same origin with the same
  ///     `Authorization`.
  ///   - time: the time source. Default: the system's.
  ///   - random: a source of jitter, so that requests that wait for the same moment do not start together. Default: the
  ///     system's.
  ///   - shared: the quota that each request takes a unit of. Default `nil`: none.
  package init(
    _ policy: PacingPolicy, key: ResilienceKeyRule = .originAndCredentials, time: TimeSource = .continuous,
    random: RandomSource = .system, shared: (any SharedPace)? = nil
  ) {
    self.shared = shared
    keyRule = key
    self.time = time
    self.random = random
    rules = Lock(policy)
    machines = Lock(KeyedMachines { PacingMachine(pace: policy.pace) })
  }

  /// Returns a pacer with the same rules whose pace is a shared quota. All requests through it count against the quota.
  ///
  /// - Parameter make: makes the quota from the pace, which is `nil` if the pacer has none.
  package func sharing(
    _ make: (Pace?, TimeSource, RandomSource) throws(ConfigurationError) -> any SharedPace
  ) throws(ConfigurationError) -> Pacer {
    var policy = policy
    let pace = policy.pace.take()
    return Pacer(policy, key: keyRule, time: time, random: random, shared: try make(pace, time, random))
  }

  /// Follows the rules of another pacer from now on, without forgetting anything.
  ///
  /// The limits that servers have reported stay, and so do the times of requests that wait. Requests that were sent
  /// count: after a burst at the old pace, the next request waits as if the burst had been sent at the new one. The key,
  /// the time source and the source of jitter stay those of this pacer.
  ///
  /// ```swift
  /// try pacer.adoptRules(of: try Pacer(perSecond: 20, burst: 5))
  /// ```
  ///
  /// - Parameter other: the pacer whose rules are copied. It does not change.
  /// - Throws: `ConfigurationError` if `other` is shared, or if this pacer is and `other` has a pace: the pace of a shared
  ///   pacer is that of all instances. Nothing changes then.
  public func adoptRules(of other: Pacer) throws(ConfigurationError) {
    let policy = other.policy
    guard other.shared == nil, shared == nil || policy.pace == nil else {
      throw ConfigurationError(
        "the pace of a shared pacer cannot be replaced",
        hint: "replace other rules by those of a pacer without a pace, or share a new pacer under another name")
    }
    let now = time.now()
    rules.withLock { rules in
      rules = policy
      machines.withLock { machines in
        machines.changeAll(
          making: { PacingMachine(pace: policy.pace) }, { machine, _ in machine.adopt(policy.pace, now: now) })
      }
    }
  }

  /// Returns the state of the pacer for a key.
  package func status(of key: ResilienceKey) -> Status {
    let now = time.now()
    let machine = machines.withLock { $0.known(key) }
    let quota = machine?.status(now: now)
    let blockedUntil = machine?.blockedUntil ?? .zero
    return Status(
      quota: quota?.whole, left: quota?.left, reset: quota?.reset,
      blocked: blockedUntil > now ? blockedUntil - now : nil)
  }

  /// Returns the known limits of the server for each key, for a snapshot.
  func snapshotParts() -> [StackSnapshot.Part] {
    let now = time.now()
    return machines.withLock { machines in
      machines.parts(of: "pacer") { machine in
        var values: [String: StackSnapshot.Value] = [:]
        if let quota = machine.status(now: now) {
          values = ["left": .count(quota.left), "resetsIn": .seconds(quota.reset)]
          if let whole = quota.whole { values["quota"] = .count(whole) }
        }
        if machine.blockedUntil > now { values["blockedFor"] = .seconds(machine.blockedUntil - now) }
        return values
      }
    }
  }

  /// Waits until a request may be sent. The request counts as sent when the call returns.
  ///
  /// - Parameters:
  ///   - key: the key of the request.
  ///   - left: the time left for the whole attempt; the call fails at once if the wait would be longer. Default: no
  ///     limit.
  /// - Throws: `TransportError`, stage `policy`, code `rate_limited`; the cancelled error when the task is cancelled.
  ///   Nothing was sent.
  package func slot(for key: ResilienceKey, left: Duration? = nil) async throws(TransportError) -> Slot {
    switch try turn(for: key, left: left) {
    case .slot(let slot): return sent(slot)
    case .wait(let wait): return sent(try await slot(after: wait, for: key))
    }
  }

  /// Marks the request of a slot as sent; returns the slot with its sequence number.
  func sent(_ slot: Slot) -> Slot {
    var slot = slot
    slot.number = machines.withLock { $0[slot.place].send(slot.reservation) }
    return slot
  }

  /// Returns the slot of a request that is not sent, and its unit of the shared quota.
  func giveBack(_ slot: Slot) {
    machines.withLock { $0[slot.place].giveBack(slot.reservation) }
    shared?.giveBack()
  }

  /// Takes a unit of the shared quota for a slot that has come, if there is such a quota.
  ///
  /// - Parameter left: the time left for the whole attempt; `nil` for no limit.
  /// - Returns: notes for the ledger, if the request waited or the quota's store was lost.
  /// - Throws: as ``slot(for:left:)``. The slot has been returned.
  func takeShared(
    _ slot: Slot, for key: ResilienceKey, left: Duration?
  ) async throws(TransportError) -> [TransferFacts.Note] {
    guard let shared else { return [] }
    if case .taken(let notes) = shared.take() { return notes }
    let policy = policy
    let limit = max(.zero, min(policy.maximumWait - slot.waited, left ?? .seconds(1_000_000_000)))
    switch await shared.take(within: limit) {
    case .taken(let notes): return notes
    case .refused(let wait):
      machines.withLock { $0[slot.place].giveBack(slot.reservation) }
      throw .rateLimited(key, wait, limit: policy.maximumWait > .zero ? limit : nil)
    case .cancelled:
      machines.withLock { $0[slot.place].giveBack(slot.reservation) }
      throw .cancelled()
    }
  }

  /// Returns a slot, or a wait for one, without suspending, because most requests do not wait. The caller must pass the
  /// slot to `sent` or `giveBack`.
  func turn(for key: ResilienceKey, left: Duration?) throws(TransportError) -> Turn {
    let start = time.now()
    let limit = min(policy.maximumWait, left ?? .seconds(1_000_000_000))
    return try turn(for: key, since: start, limit: limit, now: start)
  }

  /// - Parameter earlier: the wait of this request that ended without a usable slot.
  private func turn(
    for key: ResilienceKey, since start: Duration, limit: Duration, now: Duration, after earlier: Wait? = nil
  ) throws(TransportError) -> Turn {
    // Hold the lock throughout: a refused reservation is returned before another is made behind it.
    let (place, reservation, fits) = machines.withLock { machines in
      let place = earlier?.place ?? machines.place(of: key, now: now)
      if let earlier { machines[place].giveBack(earlier.reservation) }
      let reservation = machines[place].reserve(now: now, unit: random.unit())
      let fits = reservation.slot <= now || reservation.slot - start <= limit
      if !fits { machines[place].giveBack(reservation) }
      return (place, reservation, fits)
    }
    if reservation.slot <= now {
      return .slot(Slot(place: place, reservation: reservation, waited: now - start))
    }
    guard fits else {
      throw .rateLimited(
        key, reservation.slot - now, limit: policy.maximumWait > .zero ? limit - (now - start) : nil)
    }
    return .wait(Wait(place: place, reservation: reservation, start: start, limit: limit, now: now))
  }

  func slot(after first: Wait, for key: ResilienceKey) async throws(TransportError) -> Slot {
    var wait = first
    while true {
      let (place, reservation) = (wait.place, wait.reservation)
      do { try await time.sleep(reservation.slot - wait.now) } catch {
        machines.withLock { $0[place].giveBack(reservation) }
        throw .cancelled()
      }
      // If the server sent a `Retry-After` meanwhile, reserve again; otherwise the slot is valid.
      let blockedUntil = machines.withLock { $0[place].blockedUntil }
      let now = time.now()
      if blockedUntil <= now { return Slot(place: place, reservation: reservation, waited: now - wait.start) }
      switch try turn(for: key, since: wait.start, limit: wait.limit, now: now, after: wait) {
      case .slot(let slot): return slot
      case .wait(let next): wait = next
      }
    }
  }

  /// Reports the response to a request.
  ///
  /// - Parameters:
  ///   - slot: the slot of the request.
  ///   - head: the head of the response.
  /// - Returns: how long the server asks not to be called (429 and 503 with `Retry-After`); `nil` if it does not ask.
  @discardableResult
  package func learn(_ slot: Slot, from head: HTTPResponse) -> Duration? {
    let (now, policy) = (time.now(), policy)
    let retryAfter = head.retryAfter(time.sinceEpoch())
    // On a machine that several servers share for lack of room, the fields of one server do not apply to the others.
    guard slot.place.isOwn else { return retryAfter }
    var quota =
      policy.readsRateLimitFields ? RateLimitFields.quota(head.headerFields, sinceEpoch: time.sinceEpoch()) : nil
    if let shared {
      // The other instances use up the same quota.
      if quota?.left == 0 { shared.block(for: quota?.reset ?? .zero) }
      quota?.divide(by: shared.instances)
      if policy.sharesRetryAfter, let retryAfter { shared.block(for: retryAfter) }
    }
    if quota != nil || retryAfter != nil {
      machines.withLock {
        $0[slot.place].learn(
          number: slot.number, quota: quota, retryAfter: policy.sharesRetryAfter ? retryAfter : nil, now: now)
      }
    }
    return retryAfter
  }
}
