// SPDX-License-Identifier: Apache-2.0

/// Decides when to check with a PING whether the server is alive, and what to do if the PING is not answered.
///
/// Any byte from the server counts as an answer. The time to answer does not begin while a PING waits behind other
/// output that is still moving. If a PING was delivered but not answered, the connection gets no new requests. Its
/// current requests continue, because the server may only be busy, and each request has limits of its own. A connection
/// on which nothing can be delivered is dead.
package struct HTTP2Liveness: Sendable {
  package struct Limits: Sendable {
    /// The silence after which a PING accompanies the next request. Default 10 s.
    package var silence = 10 * HTTP2Time.second
    /// The time that the server has to answer a PING that accompanies a request. Default 10 s.
    package var answer = 10 * HTTP2Time.second
    /// The time that the server has to answer a PING after a request has timed out. Default 1 s.
    package var probe = HTTP2Time.second

    package init() {}
  }

  /// The delivery state of the bytes that were written so far, including the PING.
  package enum Output: Sendable, CaseIterable {
    /// All bytes were delivered: the peer's kernel has acknowledged them, or, where no kernel can be asked, the write
    /// has completed.
    case delivered
    /// Some bytes are left, but fewer than at the owner's last look.
    case moving
    /// Some bytes are left, and none have moved since the owner's last look.
    case stuck
  }

  package enum Step: Equatable, Sendable {
    /// The connection gets no new requests. Its current requests continue.
    case unhealthy
    case dead
  }

  /// A PING that waits for an answer.
  private struct Wait {
    var deadline: UInt64
    /// Whether the PING had not been delivered at the latest check.
    var isQueued = false

    /// Grants the PING another period if it has not had a full one since its delivery. Returns `false` if its time is
    /// up.
    mutating func prolong(by limit: UInt64, now: UInt64, _ output: Output) -> Bool {
      guard output == .moving || output == .delivered && isQueued else { return false }
      isQueued = output == .moving
      deadline = now + limit
      return true
    }
  }

  private let limits: Limits
  private var lastRead: UInt64
  private var request: Wait?
  private var probe: Wait?

  package init(_ limits: Limits = Limits(), now: UInt64) {
    self.limits = limits
    lastRead = now
  }

  /// The time at which ``due(now:output:)`` must be called next; `nil` if it need not be called.
  package var deadline: UInt64? {
    let earliest = min(request?.deadline ?? .max, probe?.deadline ?? .max)
    return earliest == .max ? nil : earliest
  }

  package mutating func read(now: UInt64) {
    lastRead = now
    (request, probe) = (nil, nil)
  }

  /// Records that a request is sent. Returns whether a PING is to accompany it.
  package mutating func willRequest(now: UInt64) -> Bool {
    guard request == nil, now &- lastRead >= limits.silence else { return false }
    request = Wait(deadline: now + limits.answer)
    return true
  }

  /// Records that a request has timed out. Returns whether a PING is to be sent.
  package mutating func probe(now: UInt64) -> Bool {
    guard probe == nil else { return false }
    probe = Wait(deadline: now + limits.probe)
    return true
  }

  /// Returns the step that is due now; `nil` if there is none, or no further one.
  package mutating func due(now: UInt64, output: Output) -> Step? {
    if let wait = request, now >= wait.deadline, request?.prolong(by: limits.answer, now: now, output) == false {
      request = nil
      return output == .stuck ? .dead : .unhealthy
    }
    if let wait = probe, now >= wait.deadline, probe?.prolong(by: limits.probe, now: now, output) == false {
      probe = nil
      return .unhealthy
    }
    return nil
  }
}
