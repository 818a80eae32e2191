// SPDX-License-Identifier: Apache-2.0

/// A WebSocket after its handshake, as client or server, without I/O: it takes bytes, requests and times, and produces
/// bytes and ``Action``s.
///
/// The session implements RFC 6455 and the configuration: closing and lingering, keep-alive, fragmentation,
/// compression, limits, and back pressure from slow readers. It has no clock, no randomness and no stream: times, mask
/// keys and nonces are passed in. Its owner
///
/// 1. reads from the stream when ``intake`` asks for it, passes the bytes to ``receive(_:)``, and calls ``work(now:)``;
/// 2. writes the bytes of ``output(keys:)``, and reports progress with ``wrote(_:now:)``;
/// 3. calls ``tick(now:nonce:)`` at ``deadline`` and ``keepAliveDue``;
/// 4. performs ``takeActions()`` after each call.
///
/// Received messages are read piece by piece by any number of readers. Each reader gets all messages.
package struct WebSocketSession: ~Copyable {
  package struct Configuration: Sendable {
    /// The role, compression and limits for received frames.
    package var decoding: WebSocketDecoder.Configuration
    /// The size in bytes below which messages are sent uncompressed.
    package var minimumCompressedBytes = 1024
    /// The maximum payload of a sent frame in bytes. Larger messages are split.
    package var maximumOutgoingFrameBytes = 256 * 1024
    /// The number of bytes to keep for readers. When it is reached, reading stops.
    package var receiveBufferBytes = 256 * 1024
    /// The interval of keep-alive pings; `nil` to send none.
    package var keepAlive: Duration?
    package var answersPings = true
    package var closeTimeout = Duration.seconds(10)

    package init(_ decoding: WebSocketDecoder.Configuration) { self.decoding = decoding }
  }

  package enum Initiator: Sendable, Hashable {
    case local
    case remote
  }

  /// The outcome of a session that was closed.
  package struct Close: Sendable, Equatable {
    /// The code of the peer's Close frame; `nil` if there was none. The reason is empty then.
    package var code: UInt16?
    package var reason: String
    /// Whether both sides sent a Close frame.
    package var isClean: Bool
    package var initiator: Initiator
  }

  package enum Failure: Sendable, Equatable {
    /// The stream ended or failed without a Close frame.
    case lost
    case violation(WebSocketViolation)
    /// The peer sent neither a pong for a keep-alive ping nor anything else.
    case silence
    /// A message was abandoned halfway.
    case abandoned
    case cut
    /// The owner released the session.
    case dropped
  }

  /// The reported state of a session. It never returns to an earlier state.
  package enum State: Sendable, Equatable {
    case open
    case closing
    case closed(Close)
    case failed(Failure)
  }

  package enum Action: Equatable, Sendable {
    /// The state has changed.
    case told(State)
    /// A message or a fragment was written completely to the stream.
    case sent(UInt64)
    /// A pong answered a ping.
    case ponged(UInt64, payload: [UInt8], roundTrip: Duration)
    /// A message, a fragment or a ping cannot be sent or completed. The state shows the reason.
    case refused(UInt64)
    /// Another piece is available for readers.
    case received
    case receivedPing([UInt8])
    case receivedPong([UInt8])
    case receivedClose(code: UInt16?, reason: String)
    /// Close the stream. This is the last action.
    case closeStream
  }

  /// The time that the peer has to end the connection after both Close frames, and the time limit of each earlier step.
  package static let lingerTimeout = Duration.seconds(1)

  let configuration: Configuration
  var encoder: WebSocketEncoder
  var decoder: WebSocketDecoder
  var outbox = WebSocketOutbox()
  var inbox: WebSocketInbox
  var pings = WebSocketPings()
  var keepAlive = WebSocketKeepAlive()
  private var actions: [Action] = []

  package private(set) var phase = WebSocketPhase.open
  package private(set) var state = State.open
  /// The first event that the table declares illegal in its phase. It indicates a bug in the owner.
  package private(set) var illegalEvent: (phase: WebSocketPhase, event: WebSocketEvent)?
  var closing = WebSocketClosing()
  /// The time of the next keep-alive ping or verdict; `nil` for never. It is separate from ``deadline`` because it
  /// recurs.
  package private(set) var keepAliveDue: Duration?

  // Sending
  var batch = Batch()
  package internal(set) var isWritingBroken = false
  var isFinishTaken = false
  // Receiving
  var heldPiece: WebSocketPiece?
  var mayHaveMore = false
  /// Whether a piece was dropped. All later pieces are dropped, too.
  var isCut = false

  package init(_ configuration: Configuration, now: Duration) {
    self.configuration = configuration
    encoder = WebSocketEncoder(
      role: configuration.decoding.role, deflate: configuration.decoding.deflate,
      minimumCompressedBytes: configuration.minimumCompressedBytes)
    decoder = WebSocketDecoder(configuration.decoding)
    inbox = WebSocketInbox(capacity: configuration.receiveBufferBytes)
    keepAliveDue = configuration.keepAlive.map { now + $0 }
  }

  /// Returns the actions for the owner to perform, in order.
  package mutating func takeActions() -> [Action] {
    guard !actions.isEmpty else { return [] }
    defer { actions = [] }
    return actions
  }

  mutating func act(_ action: Action) {
    if action == .received, actions.last == .received { return }
    actions.append(action)
  }

  /// Whether messages, pings and pongs are accepted.
  package var canSend: Bool { (phase == .open || phase == .faulted) && !isWritingBroken }

  /// Whether we began to close, so that unread data may be dropped.
  var isLeaving: Bool { state == .closing && closing.initiator == .local }

  // MARK: closing

  /// Starts to close. Queued messages are sent, then a Close frame; then the session waits for the peer's Close frame.
  package mutating func close(code: UInt16?, reason: String, now: Duration) {
    if state == .open { closing.closeRequested(code: code, reason: reason) }
    apply(.close, now)
  }

  /// Records that the stream ended, or failed while reading.
  package mutating func receivedEnd(now: Duration) { apply(.peerEnd, now) }

  /// Abandons a message whose fragments have begun to be sent. This has no effect if the session is already closing or
  /// cannot send.
  package mutating func abandonMessage(now: Duration) {
    if canSend { apply(.abandonment, now) }
  }

  package mutating func cut(now: Duration) { apply(.cut, now) }

  /// Like ``cut(now:)``, but a session that has already ended may still send its Close frame.
  package mutating func drop(now: Duration) { apply(.drop, now) }

  mutating func receivedClose(code: UInt16?, reason: String, now: Duration) {
    closing.closeReceived(code: code, reason: reason)
    act(.receivedClose(code: code, reason: reason))
    apply(.peerClose, now)
  }

  mutating func broke(_ violation: WebSocketViolation, now: Duration) {
    closing.violationFound(violation)
    apply(.violation, now)
    reportIfCaughtUp(now)
  }

  /// Reports that readers may have read all data that preceded a violation.
  mutating func reportIfCaughtUp(_ now: Duration) {
    if phase == .faulted || phase == .closingFaulted, inbox.isCaughtUp { apply(.caughtUp, now) }
  }

  /// Performs the table's transition for an event.
  mutating func apply(_ event: WebSocketEvent, _ now: Duration) {
    switch WebSocketPhaseTable.step(phase, event) {
    case .stay: return
    case .illegal:
      illegalEvent = illegalEvent ?? (phase, event)
      return
    case .go(let next, let effects):
      phase = next
      for effect in effects { perform(effect, now) }
    }
    if phase == .done {
      closing.stopLimits()
      keepAliveDue = nil
      act(.closeStream)
    } else if phase == .answering || phase == .parting || phase == .abandoning {
      // These phases wait for our Close frame, which may have been sent already, or can never be sent.
      if closing.isCloseWritten { apply(.closeWritten, now) } else if isWritingBroken { apply(.writeFailure, now) }
    }
  }

  private mutating func perform(_ effect: WebSocketEffect, _ now: Duration) {
    switch effect {
    case .tellClosing(let initiator):
      closing.begin(by: initiator, until: now + configuration.closeTimeout)
      tell(.closing)
    case .say(let goodbye):
      let frame = closing.frame(goodbye)
      outbox.setClose(code: frame.code, reason: frame.reason, flushing: goodbye == .asked)
    case .end(let ending):
      tell(closing.state(ending))
      refuseAll()
      (heldPiece, keepAliveDue) = (nil, nil)
    case .startLimit: closing.limitPhase(now: now)
    }
  }

  private mutating func tell(_ state: State) {
    self.state = state
    act(.told(state))
  }

  /// Refuses all queued requests. A Close frame is still sent.
  mutating func refuseAll() {
    for id in outbox.clear() + pings.clear() where id != Self.keepAliveID { act(.refused(id)) }
  }

  // MARK: time

  /// The next time limit; `nil` if none is running.
  package var deadline: Duration? { closing.deadline }

  /// Acts on expired time limits.
  ///
  /// - Parameter nonce: the random payload of a keep-alive ping, so that no other pong can be mistaken for its answer.
  package mutating func tick(now: Duration, nonce: UInt64) {
    if closing.takeCloseTimeout(now: now) { apply(.closeTimeout, now) }
    if closing.takePhaseLimit(now: now) { phaseEnds(now) }
    if let keepAliveDue, keepAliveDue <= now { beat(now, nonce) }
  }

  private mutating func phaseEnds(_ now: Duration) {
    // The time during which slow readers stop the reading does not count.
    if phase == .mute || phase == .closingMute, keepAlive.takeHoldUp() { return closing.limitPhase(now: now) }
    apply(.limit, now)
  }

  private mutating func beat(_ now: Duration, _ nonce: UInt64) {
    keepAliveDue = nil
    guard canSend, let interval = configuration.keepAlive else { return }
    keepAliveDue = now + interval
    switch keepAlive.beat() {
    case .ping:
      let payload = withUnsafeBytes(of: nonce.bigEndian) { Array($0) }
      addPing(.init(id: Self.keepAliveID, payload: payload, sentAt: now))
    case .dead: apply(.silence, now)
    case .go, .stay, .illegal: break
    }
  }
}
