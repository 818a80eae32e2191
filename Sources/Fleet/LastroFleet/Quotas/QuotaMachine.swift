// SPDX-License-Identifier: Apache-2.0

/// The decisions of one instance about a shared quota, as a value without a clock, tasks or a store.
///
/// ```
/// generates its fraction ─▶ own units ──── uses them ──▶ requests
///                            │ gives surplus   ▲ lease: units that expire
///                            ▼                 │
///                           stock in the store ┘
/// ```
///
/// Units that an instance gives or asks for are never counted twice: those of an exchange whose outcome is unknown are
/// lost.
struct QuotaMachine: Sendable {
  private struct Lease: Sendable {
    var count: Int
    /// The end for this instance, counted from before the store was asked.
    var until: Duration
  }

  /// The number of requests after which the store is asked for news, and the time after which it is in any case.
  private static let newsAfter = (requests: 75, time: Duration.seconds(6))
  private static let longestIdle = Duration.seconds(60)
  /// Units are floating-point numbers, whose sums are inexact.
  private static let rounding = 1e-6

  let terms: QuotaTerms
  let instance: String
  private var own: Double
  /// The time up to which own units have been generated.
  private var generated: Duration
  private var leases: [Lease] = []
  private var blockedUntil = Duration.zero
  /// The end of a block that the store does not know yet; `nil` if there is none.
  private var news: Duration?
  private var waiting: [UInt64] = []
  /// The number of requests since the last exchange, and an estimate of requests per second.
  private var asked = 0
  private var demand = 0.0
  private(set) var members = 1
  private(set) var isLost = false
  private(set) var hasLeft = false
  private var isExchanging = false
  /// Whether the last exchange gave units or asked for some.
  private var wasBusy = false
  /// The number of units of the last lease.
  private var lastGrant = 0
  /// Whether the stock is less than half full.
  private var isScarce = true
  private var lastExchange: Duration
  private var nextExchange: Duration
  /// The pause before the next exchange that units are needed or lent for. It grows while that is in vain.
  private var pause: Duration

  /// Creates the state of an instance that starts: it may send one request at once.
  init(_ terms: QuotaTerms, instance: String, now: Duration) {
    self.terms = terms
    self.instance = instance
    own = terms.instances == nil ? 0 : 1
    generated = now
    lastExchange = now
    nextExchange = now
    pause = terms.interval
  }

  // MARK: Requests

  /// Takes a unit for a request. Returns whether there is one, and nothing waits for it.
  mutating func ask(now: Duration) -> Bool {
    if hasLeft {
      hasLeft = false
      generated = max(generated, now)
      nextExchange = now
    }
    asked += 1
    if waiting.isEmpty, takeUnit(now) {
      if asked >= Self.newsAfter.requests { expectExchange(at: lastExchange + .milliseconds(500)) }
      return true
    }
    return false
  }

  /// Lets a request wait for a unit, behind those that wait already.
  mutating func wait(_ id: UInt64) {
    waiting.append(id)
    // After an exchange that was about no units, this one need not be spaced.
    expectExchange(at: wasBusy ? lastExchange + pause : lastExchange)
  }

  /// Removes a request that waits.
  mutating func cancel(_ id: UInt64) { waiting.removeAll { $0 == id } }

  /// Returns the requests that need not wait any longer. Each has a unit.
  mutating func admitted(now: Duration) -> [UInt64] {
    var count = 0
    while count < waiting.count, takeUnit(now) { count += 1 }
    defer { waiting.removeFirst(count) }
    return Array(waiting.prefix(count))
  }

  /// Returns a unit that was taken and is not used. It is lost if its lease may have ended.
  mutating func giveBack(now: Duration) {
    generate(now)
    if terms.ownLimit >= 1 {
      own = min(terms.ownLimit, own + 1)
    } else if let last = leases.indices.last, leases[last].until > now {
      leases[last].count += 1
    }
  }

  /// Returns the time that a further request has to wait at least, as far as that is known. A lease may end it earlier
  /// than the own units do, unless the store is lost.
  func leastWait(now: Duration) -> Duration {
    let blocked = max(.zero, blockedUntil - now)
    guard isLost, terms.ownPerSecond > 0 else { return blocked }
    let missing = max(0, Double(waiting.count + 1) - units(now))
    return max(blocked, .seconds(missing / terms.ownPerSecond))
  }

  private mutating func takeUnit(_ now: Duration) -> Bool {
    guard now >= blockedUntil else { return false }
    while let lease = leases.first {
      if lease.until > now, lease.count > 0 {
        leases[0].count -= 1
        return true
      }
      leases.removeFirst()
    }
    generate(now)
    guard own >= 1 - Self.rounding else { return false }
    own -= 1
    return true
  }

  private mutating func generate(_ now: Duration) {
    guard now > generated else { return }
    own = units(now)
    generated = now
  }

  /// Returns the number of own units at a time.
  private func units(_ now: Duration) -> Double {
    guard !hasLeft else { return 0 }
    return min(terms.ownLimit, own + max(0, (now - generated) / .seconds(1)) * terms.ownPerSecond)
  }

  // MARK: Blocks

  /// Lets nothing be sent for a while, here and, after the next exchange, elsewhere.
  mutating func block(for duration: Duration, now: Duration) {
    let until = now + min(duration, QuotaRecord.longestBlock)
    guard until > blockedUntil else { return }
    stop(until: until)
    news = until
    expectExchange(at: now)
  }

  /// Afterwards the instance begins without units, so that the fleet does not start with a burst.
  private mutating func stop(until: Duration) {
    guard until > blockedUntil else { return }
    blockedUntil = until
    own = 0
    generated = until
    leases = []
  }

  // MARK: Exchanges

  /// Returns the next exchange with the store if it is due; its end must be reported.
  mutating func exchange(now: Duration) -> QuotaRecord.Request? {
    guard !isExchanging, !hasLeft, now >= nextExchange else { return nil }
    isExchanging = true
    generate(now)
    let elapsed = max((now - lastExchange) / .seconds(1), 0.01)
    let rate = Double(asked) / elapsed
    demand += (rate - demand) * min(1, elapsed / 3)
    if demand < 0.01 { demand = 0 }
    asked = 0
    var request = QuotaRecord.Request(instance: instance)
    if let until = news, until > now { request.block = until - now }
    news = nil
    guard now >= blockedUntil else { return request }
    leases.removeAll { $0.until <= now }
    let leased = leases.reduce(0) { $0 + $1.count }
    let interval = terms.interval / .seconds(1)
    let need = Double(waiting.count) + max(0, demand * 1.2 - terms.ownPerSecond) * interval
    let missing = need - own - Double(leased)
    // A unit in reserve spares a request its wait, but is missing elsewhere if units are scarce.
    let forWaiting = (Double(waiting.count) - own - Double(leased)).rounded(.up)
    var wanted = isScarce ? max(forWaiting, missing.rounded(.down)) : missing.rounded(.up)
    // Requests that wait hide how many would follow.
    if !waiting.isEmpty, !isScarce { wanted = max(wanted, Double(2 * lastGrant)) }
    if wanted >= 1 {
      request.wants = Int(min(wanted, terms.stockLimit))
    } else if waiting.isEmpty {
      // Keep units for calls that come unexpectedly.
      let kept = max(need - Double(leased), terms.kept)
      request.gives = max(0, Int(own - kept + Self.rounding))
      own -= Double(request.gives)
    }
    return request
  }

  /// Reports that an exchange succeeded.
  ///
  /// - Parameters:
  ///   - request: the exchange.
  ///   - start: the time before the store was asked.
  ///   - jitter: a random number from 0 up to 1.
  /// - Returns: whether the store was lost before.
  mutating func exchanged(
    _ request: QuotaRecord.Request, _ reply: QuotaRecord.Reply, start: Duration, now: Duration, jitter: Double
  ) -> Bool {
    defer { isLost = false }
    members = reply.members
    isScarce = reply.isScarce
    lastGrant = reply.granted
    if reply.granted > 0 { leases.append(Lease(count: reply.granted, until: start + terms.lease)) }
    if reply.block > .zero { stop(until: now + reply.block) }
    let isInVain = request.wants > 0 ? reply.granted == 0 : request.gives > 0 && reply.isFull
    wasBusy = request.wants > 0 || request.gives > 0
    // Many instances that exchange in vain at once would cost more than their requests.
    let perRequest = Duration.seconds(Double(Self.newsAfter.requests) / max(demand, 1))
    pause = isInVain ? min(pause * 2, max(terms.interval, min(Self.newsAfter.time, perRequest))) : terms.interval
    let rest = demand > 0 ? Self.newsAfter.time : Self.longestIdle
    let spread = pause * (0.8 + 0.4 * jitter)
    let next = request.wants > 0 ? spread : min(rest, max(spread, untilSurplus(now) * (1 + 0.2 * jitter)))
    ended(now, pause: next, news: .zero)
    return isLost
  }

  /// Returns the time until there are own units to give.
  private func untilSurplus(_ now: Duration) -> Duration {
    guard terms.ownPerSecond > 0 else { return Self.longestIdle }
    let target = min(terms.ownLimit, terms.kept + max(1, terms.ownLimit / 4))
    return max(.zero, generated - now) + .seconds(max(0, target - units(now)) / terms.ownPerSecond)
  }

  /// Reports that an exchange failed.
  ///
  /// - Parameter isLost: whether the store is lost, and the outcome unknown. If not, other instances were faster, and
  ///   nothing was exchanged.
  /// - Returns: whether the store was not lost before, and is now.
  mutating func failed(_ request: QuotaRecord.Request, isLost: Bool, now: Duration, jitter: Double) -> Bool {
    defer { self.isLost = self.isLost || isLost }
    if request.block > .zero { news = blockedUntil }
    generate(now)
    if !isLost { own = min(terms.ownLimit, own + Double(request.gives)) }
    pause = min(max(pause * 2, .milliseconds(200)), .seconds(5))
    let next = pause * (0.8 + 0.4 * jitter)
    ended(now, pause: next, news: next)
    return isLost && !self.isLost
  }

  private mutating func ended(_ now: Duration, pause next: Duration, news later: Duration) {
    isExchanging = false
    lastExchange = now
    nextExchange = now + next
    if news != nil { expectExchange(at: now + later) }
    if !waiting.isEmpty { expectExchange(at: now + pause) }
  }

  private mutating func expectExchange(at time: Duration) {
    // A lost store is asked no sooner than planned.
    if !isLost { nextExchange = min(nextExchange, time) }
  }

  /// Gives everything back, because the instance ends. A later request lets it return.
  mutating func leave(now: Duration) -> QuotaRecord.Request {
    generate(now)
    let leased = leases.reduce(0) { $0 + ($1.until > now ? $1.count : 0) }
    defer {
      (own, leases, hasLeft) = (0, [], true)
      generated = max(generated, now)
    }
    return QuotaRecord.Request(instance: instance, gives: Int(own) + leased, isLeaving: true)
  }

  // MARK: Time

  /// Returns the time at which something happens without a further event; `nil` if nothing does.
  func nextEvent(now: Duration) -> Duration? {
    var next: Duration? = isExchanging || hasLeft ? nil : nextExchange
    if !waiting.isEmpty {
      if now < blockedUntil {
        next = min(next ?? blockedUntil, blockedUntil)
      } else if terms.ownPerSecond > 0 {
        let unit = now + max(.microseconds(1), .seconds(max(0, 1 - units(now)) / terms.ownPerSecond))
        next = min(next ?? unit, unit)
      }
    }
    return next
  }

  /// The number of units that could be used at a time.
  func available(now: Duration) -> Int {
    guard now >= blockedUntil else { return 0 }
    return Int(units(now) + Self.rounding) + leases.reduce(0) { $0 + ($1.until > now ? $1.count : 0) }
  }

  /// The time for which nothing is sent, because a server asked for that.
  func block(now: Duration) -> Duration { max(.zero, blockedUntil - now) }
}
