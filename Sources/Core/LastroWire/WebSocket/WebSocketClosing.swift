// SPDX-License-Identifier: Apache-2.0

/// The closing of a WebSocket: which Close frame is sent, which end is reported, and how long the steps may take. The
/// table decides when (``WebSocketPhaseTable``).
struct WebSocketClosing {
  /// The side that began to close.
  private(set) var initiator = WebSocketSession.Initiator.local
  private var asked: (code: UInt16?, reason: String) = (nil, "")
  private var received: (code: UInt16?, reason: String)?
  private var violation: WebSocketViolation?
  /// Whether our Close frame was written.
  var isCloseWritten = false
  private var phaseDeadline: Duration?
  private var closeDeadline: Duration?

  // MARK: reasons

  /// Records the Close frame with which our side wants to close.
  mutating func closeRequested(code: UInt16?, reason: String) { asked = (code, reason) }

  /// Records the peer's Close frame.
  mutating func closeReceived(code: UInt16?, reason: String) { received = (code, reason) }

  /// Records the violation by which the peer broke the protocol.
  mutating func violationFound(_ violation: WebSocketViolation) { self.violation = violation }

  /// Records that one side began to close, and starts the time limit of the whole closing.
  mutating func begin(by initiator: WebSocketSession.Initiator, until deadline: Duration) {
    self.initiator = initiator
    closeDeadline = deadline
  }

  /// Returns the content of our Close frame.
  func frame(_ goodbye: WebSocketEffect.Goodbye) -> (code: UInt16?, reason: String) {
    switch goodbye {
    case .asked: asked
    case .echo: (received?.code, "")
    case .violation: (violation?.closeCode, "")
    case .abandoned: (1011, "")
    }
  }

  /// Returns the state to report at the end.
  func state(_ ending: WebSocketEffect.Ending) -> WebSocketSession.State {
    switch ending {
    case .closed:
      .closed(
        .init(
          code: received?.code, reason: received?.reason ?? "", isClean: received != nil && isCloseWritten,
          initiator: initiator))
    case .lost: .failed(.lost)
    case .violation: .failed(violation.map { .violation($0) } ?? .lost)
    case .silence: .failed(.silence)
    case .abandoned: .failed(.abandoned)
    case .cut: .failed(.cut)
    case .dropped: .failed(.dropped)
    }
  }

  // MARK: time

  /// The next time limit; `nil` if none is running.
  var deadline: Duration? {
    guard let phaseDeadline, let closeDeadline else { return phaseDeadline ?? closeDeadline }
    return min(phaseDeadline, closeDeadline)
  }

  /// Starts the time limit of the phase.
  mutating func limitPhase(now: Duration) { phaseDeadline = now + WebSocketSession.lingerTimeout }

  /// Stops all time limits.
  mutating func stopLimits() { (phaseDeadline, closeDeadline) = (nil, nil) }

  /// Returns whether the time limit of the whole closing has expired, and stops it then.
  mutating func takeCloseTimeout(now: Duration) -> Bool { Self.stopIfExpired(&closeDeadline, now) }

  /// Returns whether the time limit of the phase has expired, and stops it then.
  mutating func takePhaseLimit(now: Duration) -> Bool { Self.stopIfExpired(&phaseDeadline, now) }

  private static func stopIfExpired(_ deadline: inout Duration?, _ now: Duration) -> Bool {
    guard let time = deadline, time <= now else { return false }
    deadline = nil
    return true
  }
}
