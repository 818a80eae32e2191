// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("WebSocket state tables of closing, lingering and keep-alive")
struct WebSocketPhaseTableTests {
  /// Every combination of phase and event, with the next phase. `.`: no effect; `!`: the event cannot occur.
  static let closing = """
    -              close     peerClose closeWritten peerEnd writeFailure violation   abandonment caughtUp silence limit     closeTimeout cut  drop
    open           closing   answering !            done    mute         faulted     abandoning  .        done    !         !            done done
    mute           closingM  lingering !            done    !            faulted     .           .        !       done      !            done done
    faulted        closingF  !         !            !       .            !           parting     parting  done    parting   !            done done
    closing        .         answering awaiting     done    closingM     closingF    .           .        !       !         done         done done
    awaiting       .         lingering !            done    !            closingF    .           .        !       !         done         done done
    closingMute    .         lingering !            done    !            closingF    .           .        !       done      done         done done
    closingFaulted .         !         .            !       .            !           .           parting  !       parting   done         done done
    answering      .         !         lingering    !       lingering    !           .           .        !       !         done         done done
    abandoning     .         parting   lingering    done    lingering    parting     .           .        !       done      !            done .
    parting        .         !         lingering    !       lingering    !           .           .        !       lingering done         done .
    lingering      .         !         .            done    .            !           .           .        !       done      done         done .
    done           .         .         .            .       .            .           .           .        .       .         .            .    .
    """

  /// Every combination of phase and event that reports a state or sends a frame, with the actions in order.
  static let effects = """
    open close: tellClosing(local) say(asked)
    open peerClose: tellClosing(remote) say(echo)
    open peerEnd: end(lost)
    open writeFailure: startLimit
    open violation: startLimit
    open abandonment: end(abandoned) say(abandoned) startLimit
    open silence: end(silence)
    open cut: end(cut)
    open drop: end(dropped)
    mute close: tellClosing(local)
    mute peerClose: tellClosing(remote) end(closed) startLimit
    mute peerEnd: end(lost)
    mute violation: startLimit
    mute limit: end(lost)
    mute cut: end(cut)
    mute drop: end(dropped)
    faulted close: tellClosing(local) say(asked)
    faulted abandonment: end(abandoned) say(abandoned) startLimit
    faulted caughtUp: say(violation) end(violation) startLimit
    faulted silence: end(silence)
    faulted limit: say(violation) end(violation) startLimit
    faulted cut: end(cut)
    faulted drop: end(dropped)
    closing peerEnd: end(closed)
    closing writeFailure: startLimit
    closing violation: startLimit
    closing closeTimeout: end(closed)
    closing cut: end(cut)
    closing drop: end(dropped)
    awaiting peerClose: end(closed) startLimit
    awaiting peerEnd: end(closed)
    awaiting violation: startLimit
    awaiting closeTimeout: end(closed)
    awaiting cut: end(cut)
    awaiting drop: end(dropped)
    closingMute peerClose: end(closed) startLimit
    closingMute peerEnd: end(closed)
    closingMute violation: startLimit
    closingMute limit: end(closed)
    closingMute closeTimeout: end(closed)
    closingMute cut: end(cut)
    closingMute drop: end(dropped)
    closingFaulted caughtUp: say(violation) end(violation) startLimit
    closingFaulted limit: say(violation) end(violation) startLimit
    closingFaulted closeTimeout: end(closed)
    closingFaulted cut: end(cut)
    closingFaulted drop: end(dropped)
    answering closeWritten: end(closed) startLimit
    answering writeFailure: end(closed) startLimit
    answering closeTimeout: end(closed)
    answering cut: end(cut)
    answering drop: end(dropped)
    parting closeWritten: startLimit
    parting writeFailure: startLimit
    parting limit: startLimit
    """

  /// Every combination of the keep-alive's state and event, in the format of ``closing``. `ping` sends a ping, and
  /// `dead` gives up the peer.
  static let keepAlive = """
    -        dueSilent dueWriting dueMoving dueInFrame dueHeldUp written  pong
    resting  ping      ping       ping      ping       ping      .        .
    queued   dead      late       late      late       late      sent     resting
    late     dead      .          .         .          .         sentLate resting
    sent     dead      dead       .         .          .         !        resting
    sentLate sent      sent       sent      sent       sent      !        resting
    """

  private static func grid(_ text: String) -> [[String]] {
    text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
  }

  private static func word(_ phase: WebSocketPhase) -> String {
    switch phase {
    case .closingMute: "closingM"
    case .closingFaulted: "closingF"
    default: "\(phase)"
    }
  }

  @Test("Every event in every phase leads to the phase of the table, or is listed as impossible")
  func everyCell() {
    let grid = Self.grid(Self.closing)
    #expect(grid[0].dropFirst() == WebSocketEvent.allCases.map { "\($0)" }[...])
    #expect(grid.dropFirst().map { $0[0] } == WebSocketPhase.allCases.map { "\($0)" })
    for (row, phase) in zip(grid.dropFirst(), WebSocketPhase.allCases) {
      for (word, event) in zip(row.dropFirst(), WebSocketEvent.allCases) {
        let actual =
          switch WebSocketPhaseTable.step(phase, event) {
          case .go(let next, _): Self.word(next)
          case .stay: "."
          case .illegal: "!"
          }
        #expect(actual == word, "\(phase) \(event)")
      }
    }
  }

  @Test("Every transition has exactly the effects of the table")
  func everyEffect() {
    var lines: [String] = []
    for phase in WebSocketPhase.allCases {
      for event in WebSocketEvent.allCases {
        guard case .go(_, let effects) = WebSocketPhaseTable.step(phase, event), !effects.isEmpty else { continue }
        lines.append("\(phase) \(event): " + effects.map(Self.words).joined(separator: " "))
      }
    }
    #expect(lines == Self.effects.split(separator: "\n").map(String.init))
  }

  private static func words(_ effect: WebSocketEffect) -> String {
    switch effect {
    case .tellClosing(let initiator): "tellClosing(\(initiator))"
    case .say(let goodbye): "say(\(goodbye))"
    case .end(let ending): "end(\(ending))"
    case .startLimit: "startLimit"
    }
  }

  @Test("The end is reported exactly once, and no transition leads back")
  func forward() {
    for phase in WebSocketPhase.allCases {
      for event in WebSocketEvent.allCases {
        guard case .go(let next, let effects) = WebSocketPhaseTable.step(phase, event) else { continue }
        let ends = effects.filter { if case .end = $0 { true } else { false } }.count
        #expect(ends == (!phase.isEnded && next.isEnded ? 1 : 0), "\(phase) \(event)")
        #expect(!phase.isEnded || next.rawValue > phase.rawValue, "\(phase) \(event)")
        let tells = effects.contains { if case .tellClosing = $0 { true } else { false } }
        #expect(!tells || [.open, .mute, .faulted].contains(phase), "\(phase) \(event)")
      }
    }
  }

  @Test("In every phase that waits for the peer the time limits alone lead to the end")
  func limits() {
    // Every phase other than `open` must end through its own limit or through closeTimeout.
    for start in WebSocketPhase.allCases where start != .open {
      var phase = start
      for _ in 0..<4 where phase != .done {
        for event in [WebSocketEvent.limit, .closeTimeout] {
          if case .go(let next, _) = WebSocketPhaseTable.step(phase, event) {
            phase = next
            break
          }
        }
      }
      #expect(phase == .done, "\(start)")
    }
  }

  @Test("Every event in every keep-alive state leads to the state of the table")
  func everyKeepAlive() {
    let grid = Self.grid(Self.keepAlive)
    #expect(grid[0].dropFirst() == WebSocketKeepAlive.Event.allCases.map { "\($0)" }[...])
    #expect(grid.dropFirst().map { $0[0] } == WebSocketKeepAlive.State.allCases.map { "\($0)" })
    for (row, state) in zip(grid.dropFirst(), WebSocketKeepAlive.State.allCases) {
      for (word, event) in zip(row.dropFirst(), WebSocketKeepAlive.Event.allCases) {
        let actual =
          switch WebSocketKeepAlive.step(state, event) {
          case .go(let next): "\(next)"
          case .ping: "ping"
          case .dead: "dead"
          case .stay: "."
          case .illegal: "!"
          }
        #expect(actual == word, "\(state) \(event)")
      }
    }
  }

  @Test("A missing pong is excused by slow readers, then by an incomplete frame, then by outgoing bytes")
  func excuses() {
    for bits in 0..<32 {
      var keepAlive = WebSocketKeepAlive()
      keepAlive.hasReceived = bits & 1 != 0
      if bits & 2 != 0 { keepAlive.writtenBytes += 1 }
      if bits & 16 != 0 { keepAlive.writtenBytes += WebSocketKeepAlive.bufferedBytes + 1 }
      keepAlive.isInsideFrame = bits & 4 != 0
      if bits & 8 != 0 { keepAlive.isHeldUp = true }
      let expected: WebSocketKeepAlive.Event =
        bits & 8 != 0
        ? .dueHeldUp
        : bits & 5 == 5
          ? .dueInFrame : bits & 17 != 0 ? .dueMoving : bits & 2 != 0 ? .dueWriting : .dueSilent
      #expect(keepAlive.due == expected)
      keepAlive.isHeldUp = false
      #expect(keepAlive.due == expected)
      _ = keepAlive.beat()
      // After the start of another interval, only lasting facts still count.
      #expect(keepAlive.due == .dueSilent)
    }
  }

  @Test("Silence ends the session once the ping has had its time, or if nothing moves in either direction")
  func pulse() {
    var pulse = WebSocketKeepAlive()
    #expect(!pulse.isDead)
    _ = pulse.beat()
    #expect(pulse.isDead)
    // The ping is queued behind other bytes.
    pulse.hasReceived = true
    #expect(!pulse.isDead)
    _ = pulse.beat()
    #expect(pulse.isDead)
    pulse.writtenBytes = 1
    #expect(!pulse.isDead)
    // The ping is written late, so its pong has not had an interval yet.
    pulse.written()
    #expect(!pulse.isDead)
    _ = pulse.beat()
    #expect(pulse.isDead)
    pulse.isHeldUp = true
    #expect(!pulse.isDead)
    pulse.pong()
    _ = pulse.beat()
    pulse.isHeldUp = false
    #expect(!pulse.isDead)
    _ = pulse.beat()
    #expect(pulse.isDead)
    pulse.pong()
    _ = pulse.beat()
    pulse.written()
    #expect(pulse.isDead)
    // The ping has been written. A small write may be buffered below; a large write, or bytes of the peer, show that
    // the peer is alive.
    pulse.writtenBytes = WebSocketKeepAlive.bufferedBytes
    #expect(pulse.isDead)
    pulse.writtenBytes += 1
    #expect(!pulse.isDead)
    _ = pulse.beat()
    pulse.hasReceived = true
    #expect(!pulse.isDead)
    _ = pulse.beat()
    #expect(pulse.isDead)
  }
}

extension WebSocketKeepAlive {
  /// Whether the peer would be given up if the interval were over.
  fileprivate var isDead: Bool { Self.step(state, due) == .dead }
}
