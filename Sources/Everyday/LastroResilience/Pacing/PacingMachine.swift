// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The times at which requests of one key may be sent, as a pure state machine. They follow from the configured pace,
/// the server's quota and its `Retry-After`.
struct PacingMachine: Sendable, ForgettableMachine {
  /// A reserved time for a request, which must be sent or returned exactly once.
  struct Reservation: Sendable, Hashable {
    let slot: Duration
    /// The sequence number among all reservations.
    fileprivate let number: UInt64
  }

  /// The ramp after a `Retry-After`: half of the earlier pace, doubled each second, for three seconds.
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
    /// The time at which the quota is renewed.
    var until: Duration
    /// The sequence number of the newest request that the server may have counted.
    var number: UInt64
    /// The next permitted time while requests are spaced.
    var due: Duration
  }

  /// The state that a reservation changes, kept so that an unused one can be returned.
  private struct Places: Sendable {
    var bucket: TokenBucket?
    var quota: Quota?
    var ramp: Ramp?
  }

  private var places: Places
  /// The state before the newest reservation; `nil` if it has changed since.
  private var before: Places?
  private(set) var blockedUntil = Duration.zero
  private var newestReservation: UInt64 = 0
  /// The number of requests that may still be dropped before sending.
  private var reserved = 0
  private var sent: UInt64 = 0
  /// The newest second in which a request was sent, and the number of requests in it and in the one before.
  private var second: Int64 = 0
  private var counts = (now: 0, before: 0)
  private var lastUse = Duration.zero

  /// The longest wait that a server can impose: one wrong number must not block it for years.
  private static let longest = Duration.seconds(3600)

  /// - Parameter pace: the pace that the application sets; `nil` for none.
  init(pace: Pacer.Pace? = nil) { places = Places(bucket: pace.map(TokenBucket.init)) }

  /// Follows another pace from now on; `nil` for none. Reserved times stay, and so does what the server has reported.
  mutating func adopt(_ pace: Pacer.Pace?, now: Duration) {
    before = nil
    places.bucket = pace.map {
      places.bucket?.adopting($0, now: now) ?? TokenBucket($0)
    }
  }

  /// Reserves the next time.
  ///
  /// - Parameter unit: a random number from 0 up to 1, so that requests that wait for the same moment do not start
  ///   together. It is evaluated only if needed.
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
    return Reservation(slot: slot, number: newestReservation)
  }

  /// Records that a reserved request is sent.
  ///
  /// - Returns: its sequence number among the sent requests.
  mutating func send(_ reservation: Reservation) -> UInt64 {
    reserved -= 1
    sent += 1
    count(reservation.slot)
    return sent
  }

  /// Records that a reserved request is not sent, so that it does not count against the server's quota. Its slot
  /// becomes free again, unless another reservation was made or a response arrived since.
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
    // Spread the last requests over the time that is left.
    guard usable > 0 else { return quota.until + quota.told.reset * (0.1 * unit()) }
    let place = max(slot, quota.due)
    quota.due = place + (quota.until - place) / usable
    return place
  }

  /// Returns the number of requests sent since the server reported the quota, plus the reserved ones.
  private func used(of quota: Quota) -> Int { Int(clamping: sent - min(quota.number, sent)) + reserved }

  /// Counts a request that is sent. Two that wait until moments close together may be sent in either order.
  private mutating func count(_ slot: Duration) {
    let now = slot.components.seconds
    switch now - second {
    case ..<(-1): break
    case -1: counts.before += 1
    case 0: counts.now += 1
    case 1: counts = (1, counts.now)
    default: counts = (1, 0)
    }
    second = max(second, now)
  }

  /// Learns from a response.
  ///
  /// - Parameters:
  ///   - number: the sequence number of its request, from ``send(_:)``.
  ///   - quota: the quota that the server reports.
  ///   - retryAfter: how long the server asks not to be called, for the whole key.
  mutating func learn(number: UInt64, quota told: ServerQuota?, retryAfter: Duration?, now: Duration) {
    lastUse = now
    before = nil
    if var told {
      told.reset = min(told.reset, Self.longest)
      // The response to an older request has older data.
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

  /// Returns the known quota of the server at a time.
  func status(now: Duration) -> (left: Int, reset: Duration, whole: Int?)? {
    guard let quota = places.quota, now < quota.until else { return nil }
    return (max(0, quota.told.left - used(of: quota)), quota.until - now, quota.told.whole)
  }

  func mayBeForgotten(now: Duration) -> Bool {
    now - lastUse > .seconds(60) && now > blockedUntil && now > places.quota?.until ?? .zero
      && now >= places.bucket?.due ?? .zero
  }
}
