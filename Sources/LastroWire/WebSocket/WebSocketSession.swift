// SPDX-License-Identifier: Apache-2.0

/// A WebSocket behind its handshake, as client or as server: bytes, requests and times in; bytes and ``Action``s out.
///
/// It decides all that RFC 6455 and the configuration ask for: which side closes when, what lingers, what counts as
/// dead, how messages are cut and compressed, which limits hold, and when reading must wait for slow readers. It has no
/// clock, no randomness and no stream: times, mask keys and nonces are handed in. Its owner
///
/// 1. asks ``intake``: reads from the stream and hands the bytes to ``receive(_:)``, then calls ``work(now:)``;
/// 2. takes what is to be written with ``output(keys:)``, and tells how far it came with ``wrote(_:now:)``;
/// 3. calls ``tick(now:nonce:)`` when ``deadline`` or ``keepAliveDue`` has come;
/// 4. performs ``takeActions()`` after each call.
///
/// A message that comes in is read piece by piece by any number of readers, of whom each gets everything.
package struct WebSocketSession: ~Copyable {
  package struct Configuration: Sendable {
    /// What comes in: role, compression and limits.
    package var decoding: WebSocketDecoder.Configuration
    /// Messages that have fewer bytes are sent uncompressed.
    package var minimumCompressedBytes = 1024
    /// Messages that have more bytes are sent in frames of so many.
    package var maximumOutgoingFrameBytes = 256 * 1024
    /// Bytes that are kept for readers; then reading waits.
    package var receiveBufferBytes = 256 * 1024
    /// The interval at which the peer is pinged; `nil` for never.
    package var keepAlive: Duration?
    package var answersPings = true
    package var closeTimeout = Duration.seconds(10)

    package init(_ decoding: WebSocketDecoder.Configuration) { self.decoding = decoding }
  }

  package enum Initiator: Sendable, Hashable {
    case local
    case remote
  }

  /// How it came to a closing end.
  package struct Close: Sendable, Equatable {
    /// What the peer's Close frame had; `nil` and empty when it did not come.
    package var code: UInt16?
    package var reason: String
    /// Whether both sides sent a Close frame.
    package var isClean: Bool
    package var initiator: Initiator
  }

  package enum Failure: Sendable, Equatable {
    /// The stream ended or broke without a Close frame.
    case lost
    case violation(WebSocketViolation)
    /// No pong came for a keep-alive ping, nor anything else.
    case silence
    /// A message was given up midway.
    case abandoned
    case cut
    /// The owner let go of the session.
    case dropped
  }

  /// What is told of it. There is no way back.
  package enum State: Sendable, Equatable {
    case open
    case closing
    case closed(Close)
    case failed(Failure)
  }

  package enum Action: Equatable, Sendable {
    /// The state has changed.
    case told(State)
    /// A message, or a fragment of one, was handed to the stream as a whole.
    case sent(UInt64)
    /// A pong answers a ping.
    case ponged(UInt64, payload: [UInt8], roundTrip: Duration)
    /// A message, a fragment or a ping cannot be sent, or not be ended: the state tells why.
    case refused(UInt64)
    /// Readers have another piece.
    case received
    case receivedPing([UInt8])
    case receivedPong([UInt8])
    case receivedClose(code: UInt16?, reason: String)
    /// Nothing moves over the stream any more: close it. The last action.
    case closeStream
  }

  /// How long the peer has to end the connection once both have said Close, and each step before it.
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
  /// The first event that came where the table calls it illegal: a defect of the owner's.
  package private(set) var illegalEvent: (phase: WebSocketPhase, event: WebSocketEvent)?
  private var initiator = Initiator.local
  private var asked: (code: UInt16?, reason: String) = (nil, "")
  private var received: (code: UInt16?, reason: String)?
  private var violation: WebSocketViolation?
  private var phaseDeadline: Duration?
  private var closeDeadline: Duration?
  /// When the peer is to be pinged next, or given up; `nil` when never. Not among the limits of ``deadline``, for it
  /// always comes.
  package private(set) var keepAliveDue: Duration?

  // Sending
  var batch = Batch()
  var isCloseWritten = false
  package internal(set) var isWritingBroken = false
  var isFinishTaken = false
  // Receiving
  var heldPiece: WebSocketPiece?
  var mayHaveMore = false
  /// Whether a piece was dropped. Then all that follow are.
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

  /// What the owner has to do, in order.
  package mutating func takeActions() -> [Action] {
    guard !actions.isEmpty else { return [] }
    defer { actions = [] }
    return actions
  }

  mutating func act(_ action: Action) {
    if action == .received, actions.last == .received { return }
    actions.append(action)
  }

  /// Whether messages, pings and pongs are taken.
  package var canSend: Bool { (phase == .open || phase == .faulted) && !isWritingBroken }

  /// Whether we began to close, so that what is not read may be dropped.
  var isLeaving: Bool { state == .closing && initiator == .local }

  // MARK: closing

  /// Closes: messages that wait go out, then a Close frame; the peer's is waited for.
  package mutating func close(code: UInt16?, reason: String, now: Duration) {
    if state == .open { asked = (code, reason) }
    apply(.close, now)
  }

  /// The stream ended, or broke while it was read.
  package mutating func receivedEnd(now: Duration) { apply(.peerEnd, now) }

  /// A message whose fragments have begun to go out will not be ended. A session that closes already, or cannot send,
  /// comes to its end as it would have.
  package mutating func abandonMessage(now: Duration) {
    if canSend { apply(.abandonment, now) }
  }

  package mutating func cut(now: Duration) { apply(.cut, now) }

  /// As ``cut(now:)``, but a session that has ended is left to say so to its peer.
  package mutating func drop(now: Duration) { apply(.drop, now) }

  mutating func receivedClose(code: UInt16?, reason: String, now: Duration) {
    received = (code, reason)
    act(.receivedClose(code: code, reason: reason))
    apply(.peerClose, now)
  }

  mutating func broke(_ violation: WebSocketViolation, now: Duration) {
    self.violation = violation
    apply(.violation, now)
    noteCaughtUp(now)
  }

  /// Readers may have read all that came before a violation.
  mutating func noteCaughtUp(_ now: Duration) {
    if phase == .faulted || phase == .closingFaulted, inbox.isCaughtUp { apply(.caughtUp, now) }
  }

  /// Makes the move that the table has for an event.
  mutating func apply(_ event: WebSocketEvent, _ now: Duration) {
    switch WebSocketTable.step(phase, event) {
    case .stay: return
    case .illegal:
      illegalEvent = illegalEvent ?? (phase, event)
      return
    case .go(let next, let effects):
      phase = next
      for effect in effects { perform(effect, now) }
    }
    if phase == .done {
      (phaseDeadline, closeDeadline, keepAliveDue) = (nil, nil, nil)
      act(.closeStream)
    } else if phase == .answering || phase == .parting || phase == .abandoning {
      // These wait for our Close frame, which may be out, or may never be.
      if isCloseWritten { apply(.closeWritten, now) } else if isWritingBroken { apply(.writeFailure, now) }
    }
  }

  private mutating func perform(_ effect: WebSocketEffect, _ now: Duration) {
    switch effect {
    case .tellClosing(let initiator):
      self.initiator = initiator
      tell(.closing)
      closeDeadline = now + configuration.closeTimeout
    case .say(let goodbye): say(goodbye)
    case .end(let ending): end(ending)
    case .startLimit: phaseDeadline = now + Self.lingerTimeout
    }
  }

  private mutating func say(_ goodbye: WebSocketEffect.Goodbye) {
    switch goodbye {
    case .asked: outbox.setClose(code: asked.code, reason: asked.reason, flushing: true)
    case .echo: outbox.setClose(code: received?.code, reason: "", flushing: false)
    case .violation: outbox.setClose(code: violation?.closeCode, reason: "", flushing: false)
    case .abandoned: outbox.setClose(code: 1011, reason: "", flushing: false)
    }
  }

  private mutating func end(_ ending: WebSocketEffect.Ending) {
    switch ending {
    case .closed:
      tell(
        .closed(
          Close(
            code: received?.code, reason: received?.reason ?? "", isClean: received != nil && isCloseWritten,
            initiator: initiator)))
    case .lost: tell(.failed(.lost))
    case .violation: tell(.failed(violation.map(Failure.violation) ?? .lost))
    case .silence: tell(.failed(.silence))
    case .abandoned: tell(.failed(.abandoned))
    case .cut: tell(.failed(.cut))
    case .dropped: tell(.failed(.dropped))
    }
    refuseAll()
    (heldPiece, keepAliveDue) = (nil, nil)
  }

  private mutating func tell(_ state: State) {
    self.state = state
    act(.told(state))
  }

  /// Nothing that waits to be sent will be, but a Close frame.
  mutating func refuseAll() {
    for id in outbox.clear() + pings.clear() where id != Self.keepAliveID { act(.refused(id)) }
  }

  // MARK: time

  /// The next limit in time; `nil` when no limit runs.
  package var deadline: Duration? {
    guard let phaseDeadline, let closeDeadline else { return phaseDeadline ?? closeDeadline }
    return min(phaseDeadline, closeDeadline)
  }

  /// - Parameter nonce: the payload of a keep-alive ping, random, so that no other pong can be taken for its answer.
  package mutating func tick(now: Duration, nonce: UInt64) {
    if let closeDeadline, closeDeadline <= now {
      self.closeDeadline = nil
      apply(.closeTimeout, now)
    }
    if let phaseDeadline, phaseDeadline <= now { phaseEnds(now) }
    if let keepAliveDue, keepAliveDue <= now { beat(now, nonce) }
  }

  private mutating func phaseEnds(_ now: Duration) {
    phaseDeadline = nil
    // The time in which readers keep the reading waiting does not count.
    if phase == .mute || phase == .closingMute, keepAlive.takeHoldUp() {
      phaseDeadline = now + Self.lingerTimeout
      return
    }
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
