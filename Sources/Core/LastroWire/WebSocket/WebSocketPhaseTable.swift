// SPDX-License-Identifier: Apache-2.0

// The rules of closing and lingering of a WebSocket, for both roles, with one row for each transition. An event without
// a row is either ignored or illegal; `WebSocketPhaseTableTests` lists every cell.
//
//                  state: open           state: closing                       state: closed or failed
//  in order        open ───our Close──▶ closing ──it is out──▶ awaiting ─┐
//                   │                      │ the peer's Close            │ the peer's Close
//                   └──the peer's Close──▶ answering ──ours is out──────▶┴▶ lingering ──the peer ends, 1 s──▶ done
//  a rule broken   faulted              closingFaulted ──readers have all, 1 s──▶ parting ──ours out, 1 s──▶ lingering
//  a write failed  mute                  closingMute ──the peer's Close──▶ lingering; 1 s without it ──▶ done
//  a message given up midway                               abandoning ──our Close is out──▶ lingering; 1 s in all
//
// Every phase that is reported as closing ends in `done` after `closeTimeout` at the latest. The one-second limit of
// `mute` is suspended while slow readers stop the reading.

/// The phase of a session. The reported state only moves forward: open, then closing, then the end.
package enum WebSocketPhase: Int, CaseIterable, Sendable {
  // Reported state: open.
  /// Messages are exchanged.
  case open
  /// Writing has failed. Data that the peer sent before, such as the reason for closing, is still read.
  case mute
  /// The peer broke the protocol. Readers have a moment to read valid data that was received before.
  case faulted

  // Reported state: closing.
  /// We began to close. Neither Close frame has been exchanged.
  case closing
  /// Our Close frame has been sent; the peer's has not been received.
  case awaiting
  /// We began to close, and writing has failed.
  case closingMute
  /// We began to close, and the peer broke the protocol.
  case closingFaulted
  /// The peer's Close frame was received; ours has not been sent.
  case answering

  // Reported state: closed or failed.
  /// A message was abandoned halfway. Our last Close frame has not been sent; the peer may still end the connection in
  /// order.
  case abandoning
  /// Our last Close frame has not been sent, and nothing is read.
  case parting
  /// Nothing more is sent. The peer is expected to end the connection. If we closed it with unread bytes, the reset
  /// could overtake our Close frame (RFC 6455 §7.1.1).
  case lingering
  /// The stream is no longer used.
  case done

  /// Whether frames are decoded. In `lingering`, bytes are read and dropped.
  package var decodes: Bool {
    switch self {
    case .open, .mute, .closing, .awaiting, .closingMute, .abandoning: true
    case .faulted, .closingFaulted, .answering, .parting, .lingering, .done: false
    }
  }

  /// Whether the end has been reported.
  package var isEnded: Bool { rawValue >= Self.abandoning.rawValue }
}

/// An event that affects closing.
package enum WebSocketEvent: Int, CaseIterable, Sendable {
  /// Our side starts to close.
  case close
  /// The peer's Close frame was received.
  case peerClose
  /// Our Close frame was sent.
  case closeWritten
  /// The stream ended, or failed while reading.
  case peerEnd
  /// The stream failed while writing.
  case writeFailure
  /// The peer broke the protocol or exceeded a limit.
  case violation
  /// Our side abandoned a message whose fragments had begun to be sent.
  case abandonment
  /// Every reader has read all data and waits for more.
  case caughtUp
  /// The keep-alive check declared the peer dead.
  case silence
  /// The time limit of the phase has expired.
  case limit
  /// The time limit of the whole closing has expired.
  case closeTimeout
  /// Our side cuts the connection.
  case cut
  /// Our side released the session.
  case drop
}

/// An effect of a transition, in addition to the change of phase.
package enum WebSocketEffect: Equatable, Sendable {
  /// Reports that one side began to close, and starts the time limit of the whole closing.
  case tellClosing(WebSocketSession.Initiator)
  /// Queues a Close frame. Only the first one that is queued counts.
  case say(Goodbye)
  /// Reports the end, also to senders that wait for a send or a pong.
  case end(Ending)
  /// Starts the time limit of the phase.
  case startLimit

  package enum Goodbye: Sendable {
    /// Uses the requested code, after queued messages.
    case asked
    /// Echoes the peer's code (RFC 6455 §5.5.1).
    case echo
    /// Uses the code of the violated rule.
    case violation
    /// Uses code 1011.
    case abandoned
  }

  package enum Ending: Sendable {
    case closed
    case lost
    case violation
    case silence
    case abandoned
    case cut
    case dropped
  }
}

/// A cell of the table.
package enum WebSocketStep: Equatable, Sendable {
  case go(WebSocketPhase, [WebSocketEffect])
  /// The event has no effect.
  case stay
  /// The event cannot occur in this phase, and has no effect.
  case illegal
}

package enum WebSocketPhaseTable {
  private struct Row {
    var from: WebSocketPhase
    var event: WebSocketEvent
    var step: WebSocketStep

    init(_ from: WebSocketPhase, _ event: WebSocketEvent, _ to: WebSocketPhase, _ effects: [WebSocketEffect] = []) {
      (self.from, self.event, step) = (from, event, .go(to, effects))
    }
  }

  private static let moves: [Row] = [
    Row(.open, .close, .closing, [.tellClosing(.local), .say(.asked)]),
    Row(.open, .peerClose, .answering, [.tellClosing(.remote), .say(.echo)]),
    Row(.open, .peerEnd, .done, [.end(.lost)]),
    Row(.open, .writeFailure, .mute, [.startLimit]),
    Row(.open, .violation, .faulted, [.startLimit]),
    Row(.open, .abandonment, .abandoning, [.end(.abandoned), .say(.abandoned), .startLimit]),
    Row(.open, .silence, .done, [.end(.silence)]),

    Row(.mute, .close, .closingMute, [.tellClosing(.local)]),
    Row(.mute, .peerClose, .lingering, [.tellClosing(.remote), .end(.closed), .startLimit]),
    Row(.mute, .peerEnd, .done, [.end(.lost)]),
    Row(.mute, .violation, .faulted, [.startLimit]),
    Row(.mute, .limit, .done, [.end(.lost)]),

    Row(.faulted, .close, .closingFaulted, [.tellClosing(.local), .say(.asked)]),
    Row(.faulted, .caughtUp, .parting, [.say(.violation), .end(.violation), .startLimit]),
    Row(.faulted, .limit, .parting, [.say(.violation), .end(.violation), .startLimit]),
    Row(.faulted, .abandonment, .parting, [.end(.abandoned), .say(.abandoned), .startLimit]),
    Row(.faulted, .silence, .done, [.end(.silence)]),

    Row(.closing, .peerClose, .answering),
    Row(.closing, .closeWritten, .awaiting),
    Row(.closing, .peerEnd, .done, [.end(.closed)]),
    Row(.closing, .writeFailure, .closingMute, [.startLimit]),
    Row(.closing, .violation, .closingFaulted, [.startLimit]),
    Row(.closing, .closeTimeout, .done, [.end(.closed)]),

    Row(.awaiting, .peerClose, .lingering, [.end(.closed), .startLimit]),
    Row(.awaiting, .peerEnd, .done, [.end(.closed)]),
    Row(.awaiting, .violation, .closingFaulted, [.startLimit]),
    Row(.awaiting, .closeTimeout, .done, [.end(.closed)]),

    Row(.closingMute, .peerClose, .lingering, [.end(.closed), .startLimit]),
    Row(.closingMute, .peerEnd, .done, [.end(.closed)]),
    Row(.closingMute, .violation, .closingFaulted, [.startLimit]),
    Row(.closingMute, .limit, .done, [.end(.closed)]),
    Row(.closingMute, .closeTimeout, .done, [.end(.closed)]),

    Row(.closingFaulted, .caughtUp, .parting, [.say(.violation), .end(.violation), .startLimit]),
    Row(.closingFaulted, .limit, .parting, [.say(.violation), .end(.violation), .startLimit]),
    Row(.closingFaulted, .closeTimeout, .done, [.end(.closed)]),

    Row(.answering, .closeWritten, .lingering, [.end(.closed), .startLimit]),
    Row(.answering, .writeFailure, .lingering, [.end(.closed), .startLimit]),
    Row(.answering, .closeTimeout, .done, [.end(.closed)]),

    Row(.abandoning, .peerClose, .parting),
    Row(.abandoning, .closeWritten, .lingering),
    Row(.abandoning, .peerEnd, .done),
    Row(.abandoning, .writeFailure, .lingering),
    Row(.abandoning, .violation, .parting),
    Row(.abandoning, .limit, .done),
    Row(.abandoning, .cut, .done),

    Row(.parting, .closeWritten, .lingering, [.startLimit]),
    Row(.parting, .writeFailure, .lingering, [.startLimit]),
    Row(.parting, .limit, .lingering, [.startLimit]),
    Row(.parting, .closeTimeout, .done),
    Row(.parting, .cut, .done),

    Row(.lingering, .peerEnd, .done),
    Row(.lingering, .limit, .done),
    Row(.lingering, .closeTimeout, .done),
    Row(.lingering, .cut, .done),
  ]

  /// The events that have no effect, by the phases in which they may occur. `done` ignores every event, because a task
  /// that is still reading or writing may learn of the end late.
  private static let ignored: [WebSocketPhase: Set<WebSocketEvent>] = [
    .open: [.caughtUp],
    .mute: [.abandonment, .caughtUp],
    .faulted: [.writeFailure],
    .closing: [.close, .abandonment, .caughtUp],
    .awaiting: [.close, .abandonment, .caughtUp],
    .closingMute: [.close, .abandonment, .caughtUp],
    .closingFaulted: [.close, .closeWritten, .writeFailure, .abandonment],
    .answering: [.close, .abandonment, .caughtUp],
    .abandoning: [.close, .abandonment, .caughtUp, .drop],
    .parting: [.close, .abandonment, .caughtUp, .drop],
    .lingering: [.close, .closeWritten, .writeFailure, .abandonment, .caughtUp, .drop],
    .done: Set(WebSocketEvent.allCases),
  ]

  private static let cells: [WebSocketStep] = {
    var cells = [WebSocketStep](
      repeating: .illegal, count: WebSocketPhase.allCases.count * WebSocketEvent.allCases.count)
    for (phase, events) in ignored { for event in events { cells[index(phase, event)] = .stay } }
    for phase in WebSocketPhase.allCases where !phase.isEnded {
      cells[index(phase, .cut)] = .go(.done, [.end(.cut)])
      cells[index(phase, .drop)] = .go(.done, [.end(.dropped)])
    }
    for row in moves { cells[index(row.from, row.event)] = row.step }
    return cells
  }()

  private static func index(_ phase: WebSocketPhase, _ event: WebSocketEvent) -> Int {
    phase.rawValue * WebSocketEvent.allCases.count + event.rawValue
  }

  package static func step(_ phase: WebSocketPhase, _ event: WebSocketEvent) -> WebSocketStep {
    cells[index(phase, event)]
  }
}
