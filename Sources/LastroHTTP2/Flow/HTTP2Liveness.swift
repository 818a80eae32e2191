// SPDX-License-Identifier: Apache-2.0

/// Pings while nothing is read. Times are nanoseconds.
package struct HTTP2KeepAlive: Sendable, Equatable {
  /// At least 10 s; less counts as that.
  package var interval: UInt64
  /// How long the answer may take.
  package var timeout: UInt64
  /// Whether a connection without requests is pinged too.
  package var whileIdle: Bool

  package init(interval: UInt64, timeout: UInt64, whileIdle: Bool = false) {
    (self.interval, self.timeout, self.whileIdle) = (max(interval, HTTP2Time.second * 10), timeout, whileIdle)
  }
}

/// Whether the server is there: when to ask it with a PING, and what its silence means. Any bytes from it are an
/// answer.
package struct HTTP2Liveness: Sendable {
  /// A connection from which nothing was read for so long is asked beside the next request.
  package static let silence = 10 * HTTP2Time.second
  /// Neither the request nor the PING is answered: the connection is dead.
  package static let requestTimeout = 10 * HTTP2Time.second
  /// After a stream's time is over.
  package static let probeTimeout = HTTP2Time.second

  package enum Step: Equatable, Sendable {
    case ping
    /// No new requests; those that there are run on.
    case unhealthy
    case dead
  }

  private let keepAlive: HTTP2KeepAlive?
  private var lastRead: UInt64
  private var requestDeadline: UInt64?
  private var probeDeadline: UInt64?
  private var keepAliveDeadline: UInt64?

  package init(keepAlive: HTTP2KeepAlive?, now: UInt64) {
    (self.keepAlive, lastRead) = (keepAlive, now)
  }

  /// When ``due(now:isIdle:)`` is to be asked next; `nil` for never.
  package func deadline(isIdle: Bool) -> UInt64? {
    let earliest = min(
      requestDeadline ?? .max, probeDeadline ?? .max, keepAliveDeadline ?? nextPing(isIdle: isIdle) ?? .max)
    return earliest == .max ? nil : earliest
  }

  private func nextPing(isIdle: Bool) -> UInt64? {
    guard let keepAlive, keepAlive.whileIdle || !isIdle else { return nil }
    return lastRead + keepAlive.interval
  }

  package mutating func read(now: UInt64) {
    lastRead = now
    (requestDeadline, probeDeadline, keepAliveDeadline) = (nil, nil, nil)
  }

  /// A request goes out. Whether a PING is to go with it.
  package mutating func willRequest(now: UInt64) -> Bool {
    guard requestDeadline == nil, now &- lastRead >= Self.silence else { return false }
    requestDeadline = now + Self.requestTimeout
    return true
  }

  /// A stream's time is over. Whether a PING is to ask if its connection is.
  package mutating func probe(now: UInt64) -> Bool {
    guard probeDeadline == nil else { return false }
    probeDeadline = now + Self.probeTimeout
    return true
  }

  /// What the time asks for.
  package mutating func due(now: UInt64, isIdle: Bool) -> Step? {
    if let requestDeadline, now >= requestDeadline { return .dead }
    if let keepAliveDeadline, now >= keepAliveDeadline { return .dead }
    if let probeDeadline, now >= probeDeadline {
      self.probeDeadline = nil
      return .unhealthy
    }
    guard keepAliveDeadline == nil, let keepAlive, let next = nextPing(isIdle: isIdle), now >= next else { return nil }
    keepAliveDeadline = now + keepAlive.timeout
    return .ping
  }
}
