// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// The state behind the lock of a ``WebSocketCore``: the session, and the tasks that wait for it.
struct SharedWebSocketState: ~Copyable {
  typealias Answer = Result<WebSocketPong?, WebSocketError>

  /// The signals that tasks wait for.
  struct Signals: OptionSet, Sendable {
    var rawValue: UInt8

    /// There is output to write.
    static let output = Self(rawValue: 1)
    /// The reader has work to do.
    static let intake = Self(rawValue: 2)
    /// Observers have another piece, or the end was reached.
    static let pieces = Self(rawValue: 4)
    /// The state changed, or the server sent a ping.
    static let news = Self(rawValue: 8)
    /// The deadline changed.
    static let deadline = Self(rawValue: 16)
  }

  /// The actions to perform after the lock is released.
  struct Consequences {
    var answers: [(CheckedContinuation<Answer, Never>, Answer)] = []
    var woken: [CheckedContinuation<Void, Never>] = []
    var beginsLimits = false
    var closesStream = false
    var cancelled: [Task<Void, Never>] = []
  }

  var session: WebSocketSession
  var waiters = SignalWaiters<Signals>()
  var requests: [UInt64: CheckedContinuation<Answer, Never>] = [:]
  var tasks: [Task<Void, Never>] = []
  /// The states so far: at most three.
  private(set) var history = RecentElements<WebSocketState>(capacity: 3)
  /// Whether the socket was closed because it is outdated, and the application did not end it meanwhile, so that
  /// another replaces it.
  private(set) var isReplaced = false
  private(set) var receivedPings = RecentElements<Data>(capacity: 16)
  private let keepAlive: Duration?
  /// The error that broke the stream; an error in writing takes precedence over one in reading.
  private var broken: TransportError?
  private var knownDeadline: Duration?

  init(_ configuration: WebSocketConfiguration, _ deflate: WebSocketDeflate?, now: Duration) {
    session = WebSocketSession(configuration.session(deflate), now: now)
    keepAlive = configuration.keepAlive
    history.append(.open)
  }

  var current: WebSocketState { history.last ?? .open }

  /// Begins to close a socket that is outdated. A socket that either side has begun to close is not replaced.
  mutating func closeOutdated(_ code: WebSocketCloseCode, reason: String, now: Duration) {
    guard case .open = current else { return }
    isReplaced = true
    session.close(code: code.rawValue, reason: reason, now: now)
  }

  /// Records that the application closes or cuts the socket. Once it has ended, that has no effect.
  mutating func endedByApplication() { if !current.isTerminal { isReplaced = false } }

  /// The error for a call that comes too late.
  var refusal: WebSocketError {
    switch current {
    case .failed(let error): error
    case .closed(let close): .closed(close)
    case .open, .closing: session.isWritingBroken ? WebSocketError(lost: broken) : .closed(nil)
    }
  }

  private func told(_ state: WebSocketSession.State) -> WebSocketState {
    switch state {
    case .open: .open
    case .closing: .closing
    case .closed(let close): .closed(WebSocketClose(close))
    case .failed(let failure): .failed(error(failure))
    }
  }

  func error(_ failure: WebSocketSession.Failure) -> WebSocketError {
    switch failure {
    case .lost: WebSocketError(lost: broken)
    case .violation(let violation): WebSocketError(violation)
    case .silence: .silence(keepAlive ?? .zero)
    case .abandoned: .abandoned
    case .cut: .cut
    case .dropped: .dropped
    }
  }

  mutating func broke(_ error: TransportError, isWriting: Bool, _ now: Duration) {
    if isWriting {
      broken = error
      session.writeFailed(now: now)
    } else {
      broken = broken ?? error
      session.receivedEnd(now: now)
    }
  }

  /// Processes some input, and returns the reader's next step; `nil` if it has to wait.
  mutating func nextIntake(_ now: Duration) -> WebSocketSession.Intake? {
    session.work(now: now)
    return session.intake == .wait ? nil : session.intake
  }

  /// Removes a request that no longer needs an answer, and returns its continuation.
  mutating func giveUp(_ id: UInt64) -> CheckedContinuation<Answer, Never>? {
    guard let request = requests.removeValue(forKey: id) else { return nil }
    session.giveUp(id)
    return request
  }

  mutating func takeConsequences() -> Consequences {
    var result = Consequences()
    var signals: Signals = []
    for action in session.takeActions() { perform(action, &result, &signals) }
    if session.hasOutput { signals.insert(.output) }
    if session.intake != .wait { signals.insert(.intake) }
    if session.deadline != knownDeadline {
      // Once there is a deadline, there is one until the end.
      result.beginsLimits = knownDeadline == nil
      knownDeadline = session.deadline
      signals.insert(.deadline)
    }
    result.woken = waiters.take(signals)
    return result
  }

  private mutating func perform(
    _ action: WebSocketSession.Action, _ result: inout Consequences, _ signals: inout Signals
  ) {
    switch action {
    case .told(let state):
      history.append(told(state))
      signals.formUnion([.news, .pieces])
    case .sent(let id): answer(id, .success(nil), &result)
    case .ponged(let id, let payload, let roundTrip):
      answer(id, .success(WebSocketPong(payload: Data(payload), roundTrip: roundTrip)), &result)
    case .refused(let id): answer(id, .failure(refusal), &result)
    case .received: signals.insert(.pieces)
    case .receivedPing(let payload):
      receivedPings.append(Data(payload))
      signals.insert(.news)
    case .receivedPong, .receivedClose: break
    case .closeStream:
      result.closesStream = true
      (result.cancelled, tasks) = (tasks, [])
    }
  }

  private mutating func answer(_ id: UInt64, _ answer: Answer, _ result: inout Consequences) {
    if let request = requests.removeValue(forKey: id) { result.answers.append((request, answer)) }
  }
}
