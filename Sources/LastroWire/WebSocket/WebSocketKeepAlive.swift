// SPDX-License-Identifier: Apache-2.0

/// Whether the peer is alive: a ping at each interval, and what excuses a pong that has not come.
///
/// Silence counts only where a pong could have been read: not while readers are too slow for what came before it, nor
/// while a frame is still coming that no pong can overtake. A ping that waits behind other bytes, on a line that is
/// slow, has not had its time yet.
///
/// Bytes from the peer show that it is alive, whether or not they are a pong. So do writes, once they are more than the
/// layers below may buffer (``bufferedBytes``): a small write completes even if the peer is gone.
package struct WebSocketKeepAlive: Sendable {
  /// The ping of the latest interval.
  package enum State: Int, CaseIterable, Sendable {
    /// No ping waits for its pong.
    case resting
    /// Not out; this interval asked for it.
    case queued
    /// Not out; an earlier interval asked for it.
    case late
    /// Out, since an interval in which it was asked for, or an earlier one.
    case sent
    /// Out, but late: its pong has had less than an interval.
    case sentLate
  }

  package enum Event: Int, CaseIterable, Sendable {
    /// The interval is over, and no byte moved in it.
    case dueSilent
    /// The interval is over, and only a few bytes were written in it, which the layers below may have buffered.
    case dueWriting
    /// The interval is over, and bytes were received in it, or so many were written that the peer must have taken some.
    case dueMoving
    /// The interval is over, and what was received in it belongs to a frame that has not ended.
    case dueInFrame
    /// The interval is over, and readers held the reading up in it.
    case dueHeldUp
    /// The ping is out.
    case written
    /// Its pong came, or that of a later ping.
    case pong
  }

  package enum Step: Equatable, Sendable {
    case go(State)
    /// Sends a ping.
    case ping
    /// Gives the peer up.
    case dead
    case stay
    case illegal
  }

  package static func step(_ state: State, _ event: Event) -> Step {
    switch (state, event) {
    case (.resting, .dueSilent), (.resting, .dueWriting), (.resting, .dueMoving), (.resting, .dueInFrame),
      (.resting, .dueHeldUp):
      .ping
    // The pong may be read before the writer has told that the ping is out.
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

  /// The most bytes that the layers below are assumed to buffer without the peer's doing.
  package static let bufferedBytes = 256 * 1024

  package private(set) var state = State.resting
  /// Whether readers hold the reading up.
  package var isHeldUp = false { didSet { wasHeldUp = wasHeldUp || isHeldUp } }
  /// Whether a frame has begun whose end has not come.
  package var isInsideFrame = false
  // In this interval:
  package var hasReceived = false
  package var writtenBytes = 0
  private var wasHeldUp = false

  package init() {}

  /// What the end of the interval would be, were it over.
  package var due: Event {
    if wasHeldUp { return .dueHeldUp }
    if isInsideFrame, hasReceived { return .dueInFrame }
    if hasReceived || writtenBytes > Self.bufferedBytes { return .dueMoving }
    return writtenBytes > 0 ? .dueWriting : .dueSilent
  }

  /// Whether readers have held the reading up since this was asked, or since the interval began.
  mutating func takeHoldUp() -> Bool {
    defer { wasHeldUp = isHeldUp }
    return wasHeldUp
  }

  /// Ends the interval, and begins the next one unless the peer is dead.
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
