// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Tells an observer what becomes of one connection. Thread: the loop's.
final class ConnectionTeller {
  private let observer: @Sendable (Network.ConnectionChange) -> Void
  private let origin: Origin
  private let start: Int64
  private var latest: Int64
  private var state: Network.ConnectionChange.State?

  /// `nil` where no observer wants to know.
  init?(_ observer: (@Sendable (Network.ConnectionChange) -> Void)?, of host: HostPool, now: Int64) {
    guard let observer, let origin = host.route.origin else { return nil }
    (self.observer, self.origin) = (observer, origin)
    start = now
    latest = now
    tell(.active, now: now)
  }

  deinit { tell(nil, now: latest) }

  /// Reports the next state, unless it is the present one.
  func tell(_ next: Network.ConnectionChange.State?, now: Int64) {
    guard next != state else { return }
    latest = now
    observer(Network.ConnectionChange(origin: origin, from: state, to: next, age: .nanoseconds(now - start)))
    state = next
  }
}
