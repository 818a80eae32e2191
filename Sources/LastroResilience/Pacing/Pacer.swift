// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroSupport

/// Spreads requests over time, as the configuration and the server want it.
///
/// Each key has a pace of its own, of at most 10,000. Share one pacer among stacks that call the same servers with the
/// same credentials. Any thread may use it.
///
/// ```swift
/// let pacer = Pacer(PacingPolicy(pace: try .init(perSecond: 10, burst: 5)))
/// let stack = TransportNetworkStack(transport: ResilientTransport(over: engine, Resilience(pacer: pacer)))
/// ```
public final class Pacer: Sendable {
  /// What a pacer knows of a key.
  public struct Status: Sendable, Hashable {
    /// Requests that the server's quota has in all, where it says so.
    public let quota: Int?
    /// Requests that are left of it; `nil` where it tells none.
    public let left: Int?
    /// Until there are more.
    public let reset: Duration?
    /// For how long the server wants to be left alone; `nil` where it does not ask for it.
    public let blocked: Duration?
  }

  /// A request that may go out: what its answer is told by.
  public struct Slot: Sendable {
    let place: Place
    fileprivate let reservation: PacingMachine.Reservation
    /// Its number among the requests that were sent; 0 before.
    fileprivate(set) var number: UInt64 = 0
    /// How long the request waited.
    public let waited: Duration
  }

  typealias Place = KeyedMachines<PacingMachine>.Place

  /// What becomes of a request that asks.
  enum Turn {
    case slot(Slot)
    case wait(Wait)
  }

  /// A place that is still to come.
  struct Wait: Sendable {
    fileprivate let place: Place
    fileprivate let reservation: PacingMachine.Reservation
    /// When it was asked for first, and how long it may take from then on.
    fileprivate let start: Duration
    fileprivate let limit: Duration
    /// When the place was taken.
    fileprivate let now: Duration
  }

  /// How fast requests go out.
  public let policy: PacingPolicy
  let keyRule: ResilienceKeyRule
  private let time: TimeSource
  private let random: RandomSource
  private let machines: Lock<KeyedMachines<PacingMachine>>

  /// Makes a pacer that knows of no quota.
  ///
  /// - Parameters:
  ///   - policy: how fast requests go out. Default: as the server wants it.
  ///   - key: which requests share a pace. Default: those to an origin with the same `Authorization`.
  ///   - time: where the time comes from. Default: the system's.
  ///   - random: keeps those that wait for the same moment from rushing. Default: the system's.
  public init(
    _ policy: PacingPolicy = PacingPolicy(), key: ResilienceKeyRule = .originAndCredentials,
    time: TimeSource = .continuous, random: RandomSource = .system
  ) {
    self.policy = policy
    keyRule = key
    self.time = time
    self.random = random
    machines = Lock(
      KeyedMachines {
        PacingMachine(bucket: policy.pace.map { TokenBucket(perSecond: $0.perSecond, burst: $0.burst) })
      })
  }

  /// What it knows of a key.
  public func status(of key: ResilienceKey) -> Status {
    let now = time.now()
    let machine = machines.withLock { $0.known(key) }
    let quota = machine?.status(now: now)
    let blockedUntil = machine?.blockedUntil ?? .zero
    return Status(
      quota: quota?.whole, left: quota?.left, reset: quota?.reset,
      blocked: blockedUntil > now ? blockedUntil - now : nil)
  }

  /// Waits until a request may go out. It counts as sent from then on.
  ///
  /// - Parameters:
  ///   - key: for what.
  ///   - left: how long the whole attempt may still take: a wait that would be longer is not begun. Default: no limit.
  /// - Throws: `TransportError`, stage `policy`, code `rate_limited`; the cancelled error when the task is cancelled.
  ///   Nothing was sent.
  public func slot(for key: ResilienceKey, left: Duration? = nil) async throws(TransportError) -> Slot {
    switch try turn(for: key, left: left) {
    case .slot(let slot): return sent(slot)
    case .wait(let wait): return sent(try await slot(after: wait, for: key))
    }
  }

  /// A request goes out: what its answer is told by.
  func sent(_ slot: Slot) -> Slot {
    var slot = slot
    slot.number = machines.withLock { $0[slot.place].send() }
    return slot
  }

  /// A request that had a slot does not go out.
  func giveBack(_ slot: Slot) { machines.withLock { $0[slot.place].giveBack(slot.reservation) } }

  /// A request that may go out at once, or later: without a suspension, for most wait for nothing. Its slot is sent or
  /// given back.
  func turn(for key: ResilienceKey, left: Duration?) throws(TransportError) -> Turn {
    let start = time.now()
    let limit = min(policy.whenClosed == .wait ? policy.maximumWait : .zero, left ?? .seconds(1_000_000_000))
    return try turn(for: key, since: start, limit: limit, now: start)
  }

  /// - Parameter earlier: the wait that the request has behind it in vain.
  private func turn(
    for key: ResilienceKey, since start: Duration, limit: Duration, now: Duration, after earlier: Wait? = nil
  ) throws(TransportError) -> Turn {
    // Under one lock: a place that is refused goes back before another is taken behind it.
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
        key, reservation.slot - now, limit: policy.whenClosed == .wait ? limit - (now - start) : nil)
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
      // The server may have closed the gate meanwhile; else the place is this request's.
      let blockedUntil = machines.withLock { $0[place].blockedUntil }
      let now = time.now()
      if blockedUntil <= now { return Slot(place: place, reservation: reservation, waited: now - wait.start) }
      switch try turn(for: key, since: wait.start, limit: wait.limit, now: now, after: wait) {
      case .slot(let slot): return slot
      case .wait(let next): wait = next
      }
    }
  }

  /// Tells the answer to a request.
  ///
  /// - Parameters:
  ///   - slot: that of the request.
  ///   - head: the answer's.
  /// - Returns: how long the server asks to be left alone, where it does (429 and 503 with `Retry-After`).
  @discardableResult
  public func learn(_ slot: Slot, from head: HTTPResponse) -> Duration? {
    let now = time.now()
    let retryAfter = head.retryAfter(time.sinceEpoch())
    // What one server says is nothing to the others that share a machine for want of room.
    guard slot.place.isOwn else { return retryAfter }
    let quota =
      policy.readsRateLimitFields ? RateLimitFields.quota(head.headerFields, sinceEpoch: time.sinceEpoch()) : nil
    if quota != nil || retryAfter != nil {
      machines.withLock {
        $0[slot.place].learn(
          number: slot.number, quota: quota, retryAfter: policy.sharesRetryAfter ? retryAfter : nil, now: now)
      }
    }
    return retryAfter
  }
}
