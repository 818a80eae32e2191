// SPDX-License-Identifier: Apache-2.0

/// Detects whether the peer's kernel still acknowledges bytes of a call that makes no other progress.
///
/// A write completes when the kernel has buffered the bytes, long before a slow line has carried them. Therefore the
/// kernel is queried before a call fails for its idle limit: first when a quarter of the limit has passed, and then
/// after each further quarter until all bytes that the call may have written are acknowledged. A call that makes
/// progress costs nothing.
struct DeliveryWatch {
  /// The time of the call's last activity at the latest check. Later activity restarts the checks.
  private var activity = Int64.min
  private var next = Int64.max
  private var latest: LinkDelivery?
  /// The position behind the last byte that the call may have written.
  private var end: UInt64 = 0

  /// Returns the time of the next check of a call that was last active at `activity`, or the end of its limit if that
  /// is earlier.
  func nextLook(after activity: Int64, limit: Int64) -> Int64 {
    let end = activity.adding(nanoseconds: limit)
    return self.activity == activity ? min(next, end) : min(activity.adding(nanoseconds: limit / 4), end)
  }

  /// Checks the call's progress, if a check is due.
  ///
  /// - Parameters:
  ///   - delivery: queries the kernel; `nil` if its state says nothing about the peer.
  ///   - isAlone: whether no other call writes to the connection.
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
