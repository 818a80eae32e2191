// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Reports the state changes of one connection to an observer. Thread: the loop's.
final class ConnectionTeller {
  private let observer: @Sendable (ConnectionChange) -> Void
  private let origin: Origin
  private let start: Int64
  private var latest: Int64
  private var state: ConnectionChange.State?

  /// Reports the connection as active; returns `nil` if there is no observer, or if the route has no origin.
  init?(_ observer: (@Sendable (ConnectionChange) -> Void)?, of host: HostPool, now: Int64) {
    guard let observer, let origin = host.route.origin else { return nil }
    (self.observer, self.origin) = (observer, origin)
    start = now
    latest = now
    tell(.active, now: now)
  }

  deinit { tell(nil, now: latest) }

  /// Reports a change to `next`; does nothing if that is the current state.
  func tell(_ next: ConnectionChange.State?, now: Int64) {
    guard next != state else { return }
    latest = now
    observer(ConnectionChange(origin: origin, from: state, to: next, age: .nanoseconds(now - start)))
    state = next
  }
}
