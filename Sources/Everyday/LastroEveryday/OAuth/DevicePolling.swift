// SPDX-License-Identifier: Apache-2.0

/// The schedule by which a device asks for its token (RFC 8628 §3.5).
struct DevicePolling {
  /// The response to a poll that leaves the login open.
  enum Event {
    /// The user has not decided yet: `authorization_pending`.
    case pending
    /// The server wants fewer polls: `slow_down`.
    case slowDown
    /// The server did not respond, or only with a status of its own such as 503. It may ask for a wait.
    case unreachable(retryAfter: Duration?)
  }

  private static let standardInterval = Duration.seconds(5)
  private static let maximumPause = Duration.seconds(60)
  /// The longest lifetime of a code, in seconds: no interval needs to be longer.
  private static let maximumInterval = 86_400

  /// The interval that the server asks for, which only grows.
  private var interval: Duration
  /// The number of polls in a row that got no response.
  private var failures = 0
  private var retryAfter = Duration.zero

  /// Makes a schedule. The server's interval is kept within 1 s and a day; without one it is 5 s.
  init(interval: Int?) {
    self.interval = interval.map { .seconds(min(max($0, 1), Self.maximumInterval)) } ?? Self.standardInterval
  }

  mutating func note(_ event: Event) {
    switch event {
    case .pending: (failures, retryAfter) = (0, .zero)
    case .slowDown: (failures, retryAfter, interval) = (0, .zero, interval + .seconds(5))
    case .unreachable(let wait): (failures, retryAfter) = (failures + 1, wait ?? .zero)
    }
  }

  /// The time until the next poll: the interval, doubled for each poll in a row without a response up to a minute.
  var pause: Duration {
    let doubled = interval * (1 << min(failures, 6))
    return max(interval, min(doubled, Self.maximumPause), min(retryAfter, .seconds(300)))
  }
}
