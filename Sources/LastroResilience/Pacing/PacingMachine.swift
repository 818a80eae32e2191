// SPDX-License-Identifier: Apache-2.0

import Lastro

/// When requests to one key may go out, as a pure machine: the pace that was configured, the server's quota, and what
/// it
/// asked for by `Retry-After`.
struct PacingMachine: Sendable, ForgettableMachine {
  /// A request that may go out at a time: it is then sent or given back, once.
  struct Reservation: Sendable, Hashable {
    let slot: Duration
    /// Its number among all reservations.
    fileprivate let number: UInt64
  }

  /// After a `Retry-After` has passed: half of the pace before it, doubled each second, for three seconds.
  private struct Ramp: Sendable {
    static let length = 3.0

    var start: Duration
    var perSecond: Double
    var due: Duration

    mutating func reserve(_ earliest: Duration) -> Duration {
      let slot = max(earliest, due)
      var rate = perSecond / 2
      for _ in 0..<min(4, max(0, Int((slot - start).inSeconds))) { rate *= 2 }
      due = slot + .seconds(1 / max(rate, 1))
      return slot
    }
  }

  private struct Quota: Sendable {
    var told: ServerQuota
    /// When there is more.
    var until: Duration
    /// The newest request that the server may have counted, by its number among those that were sent.
    var number: UInt64
    /// When the next may go out, where they are spaced.
    var due: Duration
  }

  /// What a reservation changes, so that one that is not used can be given back.
  private struct Places: Sendable {
    var bucket: TokenBucket?
    var quota: Quota?
    var ramp: Ramp?
  }

  private var places: Places
  /// As they were before the newest reservation; `nil` where they have been changed since.
  private var before: Places?
  private(set) var blockedUntil = Duration.zero
  private var newestReservation: UInt64 = 0
  /// Those of which it is open whether they are sent.
  private var reserved = 0
  private var sent: UInt64 = 0
  /// Requests in the second that runs, and in the one before.
  private var second: Int64 = 0
  private var counts = (now: 0, before: 0)
  private var lastUse = Duration.zero

  /// The most that a server is believed: one wrong number must not shut it out for years.
  private static let longest = Duration.seconds(3600)

  init(bucket: TokenBucket? = nil) { places = Places(bucket: bucket) }

  /// Takes the next place.
  ///
  /// - Parameter unit: a random number from 0 up to 1, so that those that wait for the same moment do not rush. Made
  ///   only where it is needed.
  mutating func reserve(now: Duration, unit: @autoclosure () -> Double) -> Reservation {
    lastUse = now
    newestReservation += 1
    reserved += 1
    before = places
    var slot = places.bucket?.reserve(now: now) ?? now
    slot = afterQuota(slot, unit)
    slot = max(slot, blockedUntil)
    if let start = places.ramp?.start {
      if (slot - start).inSeconds >= Ramp.length {
        places.ramp = nil
      } else {
        slot = places.ramp?.reserve(slot) ?? slot
      }
    }
    count(slot)
    return Reservation(slot: slot, number: newestReservation)
  }

  /// A request that had a place is sent.
  ///
  /// - Returns: its number among those that were sent.
  mutating func send() -> UInt64 {
    reserved -= 1
    sent += 1
    return sent
  }

  /// A request is not sent: the server's quota stays as it was. Its place is given back too, unless others come behind
  /// it.
  mutating func giveBack(_ reservation: Reservation) {
    reserved -= 1
    guard reservation.number == newestReservation, let earlier = before.take() else { return }
    places = earlier
  }

  private mutating func afterQuota(_ slot: Duration, _ unit: () -> Double) -> Duration {
    guard var quota = places.quota, slot < quota.until else {
      places.quota = nil
      return slot
    }
    defer { places.quota = quota }
    let usable = quota.told.left - used(of: quota) + 1
    if usable > (quota.told.whole.map { $0 / 10 } ?? 5) { return slot }
    // The last ones are spread over the time that is left.
    guard usable > 0 else { return quota.until + quota.told.reset * (0.1 * unit()) }
    let place = max(slot, quota.due)
    quota.due = place + (quota.until - place) / usable
    return place
  }

  /// What was sent since the quota was told, and what may be.
  private func used(of quota: Quota) -> Int { Int(clamping: sent - min(quota.number, sent)) + reserved }

  private mutating func count(_ slot: Duration) {
    let now = slot.components.seconds
    if now != second { counts = (0, now == second + 1 ? counts.now : 0) }
    second = now
    counts.now += 1
  }

  /// Learns from an answer.
  ///
  /// - Parameters:
  ///   - number: that of its request, from ``send()``.
  ///   - quota: what the server says of it.
  ///   - retryAfter: how long the server wants to be left alone, for all of this key.
  mutating func learn(number: UInt64, quota told: ServerQuota?, retryAfter: Duration?, now: Duration) {
    lastUse = now
    before = nil
    if var told {
      told.reset = min(told.reset, Self.longest)
      // An answer to an older request knows less.
      if number >= places.quota?.number ?? 0 || now >= places.quota?.until ?? .zero {
        places.quota = Quota(told: told, until: now + told.reset, number: number, due: now)
      }
    }
    guard let retryAfter, retryAfter > .zero else { return }
    let until = now + min(retryAfter, Self.longest)
    guard until > blockedUntil else { return }
    blockedUntil = until
    places.ramp = Ramp(start: until, perSecond: Double(max(counts.now, counts.before, 2)), due: until)
  }

  /// What is known of the server's quota at a time.
  func status(now: Duration) -> (left: Int, reset: Duration, whole: Int?)? {
    guard let quota = places.quota, now < quota.until else { return nil }
    return (max(0, quota.told.left - used(of: quota)), quota.until - now, quota.told.whole)
  }

  func mayBeForgotten(now: Duration) -> Bool {
    now - lastUse > .seconds(60) && now > blockedUntil && now > places.quota?.until ?? .zero
      && now >= places.bucket?.due ?? .zero
  }
}
