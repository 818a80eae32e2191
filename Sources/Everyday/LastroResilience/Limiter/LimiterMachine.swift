// SPDX-License-Identifier: Apache-2.0

import Lastro

/// Permits and their queue, as a pure state machine.
///
/// The queue is first in, first out until its head has waited for 100 ms. From then on the newest entry goes first,
/// because it still has a chance to be served in time.
struct LimiterMachine: Sendable, ForgettableMachine {
  /// An outstanding permit.
  struct Grant: Sendable, Hashable {
    let began: Duration
    let inUse: Int
  }

  enum Answer: Sendable, Hashable {
    case admitted(Grant)
    case queued(UInt64)
    case refused
  }

  static let patience = Duration.milliseconds(100)

  private(set) var limit: ConcurrencyLimit
  private(set) var inUse = 0
  private var capacity: Int
  /// The arrival times by ticket. Tickets that left the queue stay in `order` for a while.
  private var waiting: [UInt64: Duration] = [:]
  private(set) var order: [UInt64] = []
  private var head = 0
  private var lastTicket: UInt64 = 0
  /// The mean duration of attempts, in seconds; 0 before the first.
  private var meanDuration = 0.0
  private var lastUse = Duration.zero

  var waitingCount: Int { waiting.count }

  var snapshot: ConcurrencyLimiter.Snapshot {
    ConcurrencyLimiter.Snapshot(limit: limit.value, inUse: inUse, waiting: waitingCount)
  }

  init(_ algorithm: ConcurrencyAlgorithm, capacity: Int) {
    limit = ConcurrencyLimit(algorithm)
    self.capacity = capacity
  }

  /// - Parameter left: the time left for the attempt; `nil`: no limit.
  mutating func ask(now: Duration, left: Duration?) -> Answer {
    lastUse = now
    if inUse < limit.value, waiting.isEmpty { return .admitted(grant(now)) }
    guard waiting.count < capacity else { return .refused }
    let wait = meanDuration * Double(waiting.count) / limit.exact
    if let left, left <= .zero || wait > left.inSeconds { return .refused }
    lastTicket += 1
    waiting[lastTicket] = now
    order.append(lastTicket)
    return .queued(lastTicket)
  }

  /// Removes a ticket from the queue; returns false if the ticket was already admitted.
  mutating func leave(_ ticket: UInt64) -> Bool {
    guard waiting.removeValue(forKey: ticket) != nil else { return false }
    if waiting.isEmpty {
      (order, head) = ([], 0)
    } else if order.count > 2 * waiting.count + 64 {
      // Compact the order: while no permit is returned, nothing else would remove these tickets.
      order = order[head...].filter { waiting[$0] != nil }
      head = 0
    }
    return true
  }

  /// Takes back a permit and learns from its attempt.
  ///
  /// - Returns: the queued attempts that are admitted in its place.
  mutating func end(_ grant: Grant, _ load: LoadSample, now: Duration) -> [(ticket: UInt64, grant: Grant)] {
    inUse -= 1
    lastUse = now
    let duration = now - grant.began
    if load != .ignored {
      limit.learn(
        .init(duration: duration, inUse: grant.inUse, isDropped: load == .dropped, began: grant.began), now: now)
    }
    if load == .measured {
      meanDuration += (duration.inSeconds - meanDuration) * (meanDuration == 0 ? 1 : 0.1)
    }
    return admit(now)
  }

  /// Follows other rules from now on. Outstanding permits and queued attempts stay, also above the new limits.
  ///
  /// - Returns: the queued attempts that a higher limit admits.
  mutating func adopt(
    _ algorithm: ConcurrencyAlgorithm, capacity: Int, now: Duration
  ) -> [(ticket: UInt64, grant: Grant)] {
    limit.adopt(algorithm)
    self.capacity = capacity
    return admit(now)
  }

  private mutating func admit(_ now: Duration) -> [(ticket: UInt64, grant: Grant)] {
    var admitted: [(ticket: UInt64, grant: Grant)] = []
    while inUse < limit.value, let ticket = next(now) { admitted.append((ticket, grant(now))) }
    return admitted
  }

  private mutating func grant(_ now: Duration) -> Grant {
    inUse += 1
    return Grant(began: now, inUse: inUse)
  }

  private mutating func next(_ now: Duration) -> UInt64? {
    while head < order.count, waiting[order[head]] == nil { head += 1 }
    guard head < order.count, let came = waiting[order[head]] else {
      (order, head) = ([], 0)
      return nil
    }
    var ticket = order[head]
    if now - came > Self.patience {
      while let last = order.last, waiting[last] == nil { order.removeLast() }
      ticket = order.removeLast()
    } else {
      head += 1
    }
    waiting[ticket] = nil
    if head > 64, head > order.count / 2 {
      order.removeFirst(head)
      head = 0
    }
    return ticket
  }

  func mayBeForgotten(now: Duration) -> Bool { inUse == 0 && waiting.isEmpty && now - lastUse > .seconds(600) }
}
