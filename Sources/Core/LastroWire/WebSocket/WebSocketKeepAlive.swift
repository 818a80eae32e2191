// SPDX-License-Identifier: Apache-2.0

/// The check whether the peer is alive: a ping at each interval, and the conditions that excuse a missing pong.
///
/// Silence counts only if a pong could have been read. It does not count while readers are too slow for earlier data,
/// or while a frame is still being received that no pong can overtake. A ping that is queued behind other bytes on a
/// slow connection has not had its time yet.
///
/// Bytes from the peer show that it is alive, whether or not they are a pong. So do writes that exceed the buffers of
/// the layers below (``bufferedBytes``): a small write completes even if the peer is gone.
package struct WebSocketKeepAlive: Sendable {
  /// The state of the latest ping.
  package enum State: Int, CaseIterable, Sendable {
    /// No ping is waiting for its pong.
    case resting
    /// The ping was requested in this interval, and has not been sent.
    case queued
    /// The ping was requested in an earlier interval, and has not been sent.
    case late
    /// The ping was sent in the interval in which it was requested, or its pong has had a full interval since.
    case sent
    /// The ping was sent late: its pong has had less than an interval.
    case sentLate
  }

  package enum Event: Int, CaseIterable, Sendable {
    /// The interval has ended without any bytes received or written.
    case dueSilent
    /// The interval has ended. Only a few bytes were written, which the layers below may have buffered.
    case dueWriting
    /// The interval has ended. Bytes were received, or so many were written that the peer must have accepted some.
    case dueMoving
    /// The interval has ended. The bytes received belong to a frame that is still incomplete.
    case dueInFrame
    /// The interval has ended. Slow readers stopped the reading during it.
    case dueHeldUp
    /// The ping was sent.
    case written
    /// The pong of this ping or of a later one was received.
    case pong
  }

  package enum Step: Equatable, Sendable {
    case go(State)
    /// Send a ping.
    case ping
    /// Give up on the peer.
    case dead
    case stay
    case illegal
  }

  package static func step(_ state: State, _ event: Event) -> Step {
    switch (state, event) {
    case (.resting, .dueSilent), (.resting, .dueWriting), (.resting, .dueMoving), (.resting, .dueInFrame),
      (.resting, .dueHeldUp):
      .ping
    // The pong may be read before the writer reports that the ping was sent.
    case (.resting, .written), (.resting, .pong): .stay

    case (.queued, .dueSilent), (.late, .dueSilent): .dead
    case (.queued, .dueWriting), (.queued, .dueMoving), (.queued, .dueInFrame), (.queued, .dueHeldUp): .go(.late)
    case (.late, .dueWriting), (.late, .dueMoving), (.late, .dueInFrame), (.late, .dueHeldUp): .stay
    case (.queued, .written): .go(.sent)
    case (.late, .written): .go(.sentLate)

    case (.sent, .dueSilent), (.sent, .dueWriting): .dead
    case (.sent, .dueMoving), (.sent, .dueInFrame), (.sent, .dueHeldUp): .stay
    case (.sentLate, .dueSilent), (.sentLate, .dueWriting), (.sentLate, .dueMoving), (.sentLate, .dueInFrame),
      (.sentLate, .dueHeldUp):
      .go(.sent)
    case (.sent, .written), (.sentLate, .written): .illegal

    case (.queued, .pong), (.late, .pong), (.sent, .pong), (.sentLate, .pong): .go(.resting)
    }
  }

  /// The number of bytes that the layers below may buffer without any action by the peer.
  package static let bufferedBytes = 256 * 1024

  package private(set) var state = State.resting
  /// Whether slow readers currently stop the reading.
  package var isHeldUp = false { didSet { wasHeldUp = wasHeldUp || isHeldUp } }
  /// Whether a frame has begun and not ended.
  package var isInsideFrame = false
  // State of the current interval:
  package var hasReceived = false
  package var writtenBytes = 0
  private var wasHeldUp = false

  package init() {}

  /// The event that would be reported if the interval ended now.
  package var due: Event {
    if wasHeldUp { return .dueHeldUp }
    if isInsideFrame, hasReceived { return .dueInFrame }
    if hasReceived || writtenBytes > Self.bufferedBytes { return .dueMoving }
    return writtenBytes > 0 ? .dueWriting : .dueSilent
  }

  /// Returns whether slow readers have stopped the reading since the last call or since the interval began.
  mutating func takeHoldUp() -> Bool {
    defer { wasHeldUp = isHeldUp }
    return wasHeldUp
  }

  /// Ends the interval. Starts the next one unless the peer is dead.
  package mutating func beat() -> Step {
    let step = apply(due)
    (hasReceived, writtenBytes, wasHeldUp) = (false, 0, isHeldUp)
    return step
  }

  package mutating func written() { _ = apply(.written) }
  package mutating func pong() { _ = apply(.pong) }

  private mutating func apply(_ event: Event) -> Step {
    let step = Self.step(state, event)
    switch step {
    case .go(let next): state = next
    case .ping: state = .queued
    case .dead, .stay, .illegal: break
    }
    return step
  }
}
