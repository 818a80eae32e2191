// SPDX-License-Identifier: Apache-2.0

/// Finds out whether the peer's kernel still acknowledges bytes of a call that does not move otherwise.
///
/// A write completes when the kernel has buffered the bytes, long before a slow line has carried them. So before a call
/// fails for its idle limit, the kernel is asked: first when a quarter of the limit has passed, and then after each
/// further quarter until all bytes that the call may have written are acknowledged. A call that moves costs nothing.
struct DeliveryWatch {
  /// The activity after which it looks. A later one starts it over.
  private var activity = Int64.min
  private var next = Int64.max
  private var latest: LinkDelivery?
  /// The position behind the last byte of the call, at most.
  private var end: UInt64 = 0

  /// Returns the time of the next look at a call that was active last at `activity`, or of the end of its limit.
  func nextLook(after activity: Int64, limit: Int64) -> Int64 {
    let end = activity.adding(nanoseconds: limit)
    return self.activity == activity ? min(next, end) : min(activity.adding(nanoseconds: limit / 4), end)
  }

  /// Looks, if that is due.
  ///
  /// - Parameters:
  ///   - delivery: asks the kernel; `nil` where its answer says nothing about the peer.
  ///   - isAlone: whether no other call writes on the connection.
  /// - Returns: the time of the call's latest activity.
  mutating func look(
    at delivery: @autoclosure () -> LinkDelivery?, after activity: Int64, limit: Int64, now: Int64, isAlone: Bool
  ) -> Int64 {
    let isFirst = self.activity != activity
    if !isFirst, now < next { return activity }
    var activity = activity
    next = .max
    if let found = delivery() {
      if isFirst {
        end = found.end
        if isAlone, let time = found.acknowledgedAt { activity = max(activity, min(time, now)) }
      } else if let latest, found.hasMoved(since: latest) {
        activity = max(activity, min(found.acknowledgedAt ?? now, now))
      }
      latest = found
      if found.queued > 0, found.acknowledged < end { next = now.adding(nanoseconds: limit / 4) }
    }
    self.activity = activity
    return activity
  }
}
