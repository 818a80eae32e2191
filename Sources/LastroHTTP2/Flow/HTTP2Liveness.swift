// SPDX-License-Identifier: Apache-2.0

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
    /// No new requests; those that there are run on.
    case unhealthy
    case dead
  }

  private var lastRead: UInt64
  private var requestDeadline: UInt64?
  private var probeDeadline: UInt64?

  package init(now: UInt64) { lastRead = now }

  /// When ``due(now:)`` is to be asked next; `nil` for never.
  package var deadline: UInt64? {
    let earliest = min(requestDeadline ?? .max, probeDeadline ?? .max)
    return earliest == .max ? nil : earliest
  }

  package mutating func read(now: UInt64) {
    lastRead = now
    (requestDeadline, probeDeadline) = (nil, nil)
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
  package mutating func due(now: UInt64) -> Step? {
    if let requestDeadline, now >= requestDeadline { return .dead }
    guard let probeDeadline, now >= probeDeadline else { return nil }
    self.probeDeadline = nil
    return .unhealthy
  }
}
