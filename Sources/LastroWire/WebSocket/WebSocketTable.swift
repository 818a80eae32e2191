// SPDX-License-Identifier: Apache-2.0

// The rules of closing, lingering and keep-alive of a WebSocket, for both roles: two tables, one row for each move.
// What has no row is either ignored or cannot happen; `WebSocketTableTests` lists every cell.
//
//                  told: open            told: closing                        told: closed or failed
//  in order        open ───our Close──▶ closing ──it is out──▶ awaiting ─┐
//                   │                      │ the peer's Close            │ the peer's Close
//                   └──the peer's Close──▶ answering ──ours is out──────▶┴▶ lingering ──the peer ends, 1 s──▶ done
//  a rule broken   faulted              closingFaulted ──readers have all, 1 s──▶ parting ──ours out, 1 s──▶ lingering
//  a write failed  mute                  closingMute ──the peer's Close──▶ lingering; 1 s without it ──▶ done
//  a message given up midway                               abandoning ──our Close is out──▶ lingering; 1 s in all
//
// Every phase that is told as closing ends in `done` after `closeTimeout` at the latest. The second of `mute` does not
// run while readers keep the reading waiting.

/// How far a session has come. There is no way back to an earlier told state: open, then closing, then the end.
package enum WebSocketPhase: Int, CaseIterable, Sendable {
  // Told: open.
  /// Messages flow.
  case open
  /// Writing has failed. What the peer sent before, such as why it closes, is still read.
  case mute
  /// The peer broke the protocol. Readers have a moment for what came before: it was sent in good order.
  case faulted

  // Told: closing.
  /// We began to close, and our Close frame is not out. The peer's has not come.
  case closing
  /// Our Close frame is out, and the peer's has not come.
  case awaiting
  /// We began to close, and writing has failed.
  case closingMute
  /// We began to close, and the peer broke the protocol.
  case closingFaulted
  /// The peer's Close frame came, and ours is not out.
  case answering

  // Told: closed or failed.
  /// A message was given up midway. Our last Close frame is not out; the peer may still end the connection in order.
  case abandoning
  /// Our last Close frame is not out, and nothing is read.
  case parting
  /// Nothing is to be said any more. The peer ends the connection: to close it with bytes unread would reset it, and
  /// overtake our Close frame (RFC 6455 §7.1.1).
  case lingering
  /// Nothing moves over the stream any more.
  case done

  /// Whether frames are read. In `lingering` bytes are read and dropped.
  package var decodes: Bool {
    switch self {
    case .open, .mute, .closing, .awaiting, .closingMute, .abandoning: true
    case .faulted, .closingFaulted, .answering, .parting, .lingering, .done: false
    }
  }

  /// Whether the end has been told.
  package var isEnded: Bool { rawValue >= Self.abandoning.rawValue }
}

/// What can happen to a session, as far as closing goes.
package enum WebSocketEvent: Int, CaseIterable, Sendable {
  /// Our side asks for the closing.
  case close
  /// The peer's Close frame came.
  case peerClose
  /// Our Close frame is out.
  case closeWritten
  /// The stream ended, or broke while it was read.
  case peerEnd
  /// The stream broke while it was written.
  case writeFailure
  /// The peer broke the protocol, or a limit.
  case violation
  /// Our side gave a message up whose fragments had begun to go out.
  case abandonment
  /// Every reader has all that came, and waits for more.
  case caughtUp
  /// The keep-alive found nothing alive.
  case silence
  /// The time of the phase is over.
  case limit
  /// The time for the whole closing is over.
  case closeTimeout
  /// Our side cuts the connection.
  case cut
  /// Our side forgot the session.
  case drop
}

/// What a move does besides the change of phase.
package enum WebSocketEffect: Equatable, Sendable {
  /// Tells that one side began to close, and starts the time for the whole closing.
  case tellClosing(WebSocketSession.Initiator)
  /// Queues a Close frame. The first that is queued counts.
  case say(Goodbye)
  /// Tells the end. Senders that wait, for a send or a pong, are told too.
  case end(Ending)
  /// Starts the time of the phase.
  case startLimit

  package enum Goodbye: Sendable {
    /// With the code that was asked for, behind the messages that wait.
    case asked
    /// With the peer's own code (RFC 6455 §5.5.1).
    case echo
    /// With the code of the rule that was broken.
    case violation
    /// With code 1011.
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
  /// Nothing happens.
  case stay
  /// The event cannot occur in this phase. Nothing happens then either.
  case illegal
}

package enum WebSocketTable {
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

  /// Events that change nothing, by the phases in which they may occur. `done` ignores everything: a task that still
  /// moves something learns of the end late.
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
