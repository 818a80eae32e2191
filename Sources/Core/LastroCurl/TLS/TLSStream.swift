// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// TLS over any stream.
///
/// Reading sends nothing: if OpenSSL has output while it reads (the answer to a key update, RFC 8446 §4.6.3), it is
/// sent with the next write. So a peer that does not read cannot block our reading.
final class TLSStream: LoopStream {
  private struct State {
    let session: TLSSession
    /// The end of the peer's direction, or its failure, once it was reported.
    var end: TLSSession.ReadStep?
    /// The error that ended writing, while reading continues.
    var writeFailure: TransportError?
    var turns = Turns()
    var isFinished = false
    var isClosed = false

    /// Throws the reason why nothing can be written, unless our direction was ended.
    func checkWritable() throws(TransportError) {
      if isClosed { throw .streamClosed }
      if case .failed(let error) = end { throw error }
      if let error = writeFailure { throw error }
    }
  }

  /// The number of bytes to read from below at once.
  private static let inputBytes = 32 * 1024
  /// The number of bytes to encrypt at once before they are written below.
  private static let pieceBytes = 4 * TLSSession.recordBytes
  /// The maximum number of unsent bytes that reading may produce.
  private static let unsentBytes = 64 * 1024
  /// The maximum time that a closed stream stays open below to send close_notify.
  private static let farewell = Duration.seconds(1)

  let facts: StreamFacts
  private let below: any ByteStream
  var runsOnLoops: Bool { (below as? any LoopStream)?.runsOnLoops == true }
  private let state: Lock<State>

  private init(_ session: TLSSession, over below: any ByteStream) {
    facts = session.facts(over: below.facts)
    self.below = below
    state = Lock(State(session: session))
  }

  deinit { close() }

  /// Performs the handshake. No byte of the application is sent before the server is accepted.
  static func open(_ plan: TLSPlan, _ handshake: StreamHandshake) async throws(TransportError) -> TLSStream {
    let session = try TLSSession(plan)
    while true {
      let isDone: Bool
      do throws(TransportError) {
        isDone = try session.handshake()
      } catch {
        // Send the alert with the reason if possible. The error is more important.
        let alert = session.takeOutput()
        if !alert.isEmpty { try? await handshake.stream.write(alert, within: Self.farewell) }
        throw error
      }
      let output = session.takeOutput()
      if !output.isEmpty { try await handshake.send(output) }
      if isDone { return TLSStream(session, over: handshake.stream) }
      session.feed(try await handshake.receive(upTo: Self.inputBytes))
    }
  }

  // MARK: reading

  func hasEnded(on loop: AnyObject?) -> Bool { below.isKnownToHaveEnded(on: loop) }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try beginTurn(.reading)
    defer { endTurn(.reading) }
    let countdown = Countdown(limit)
    while true {
      switch readStep(upTo: maximum) {
      case .bytes(let bytes): return bytes
      case .closed: return nil
      case .failed(let error): throw error
      case .needsInput: break
      }
      let input = try await below.read(upTo: Self.inputBytes, within: countdown.left)
      state.withLock { $0.session.feed(input) }
    }
  }

  private func readStep(upTo maximum: Int) -> TLSSession.ReadStep {
    let (step, alert): (TLSSession.ReadStep, Data) = state.withLock { state in
      if state.isClosed { return (.failed(.streamClosed), Data()) }
      let step = state.end ?? Self.advance(&state, upTo: maximum)
      guard case .failed = step, !state.turns.contains(.writing) else { return (step, Data()) }
      return (step, state.session.takeOutput())
    }
    if !alert.isEmpty { Task { [below] in try? await below.write(alert, within: Self.farewell) } }
    return step
  }

  /// Advances the reading. If it ends, `end` is set.
  private static func advance(_ state: inout State, upTo maximum: Int) -> TLSSession.ReadStep {
    var step = state.session.ending ?? state.session.read(upTo: maximum)
    switch step {
    case .bytes, .needsInput:
      // Limit answers to a peer that sends without ever reading. This holds even while a task is writing, because a
      // write takes its output at once.
      if state.session.outputCount <= unsentBytes { return step }
      step = .failed(.endlessAnswers)
    case .closed, .failed: break
    }
    state.end = step
    return step
  }

  // MARK: writing

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try beginTurn(.writing)
    defer { endTurn(.writing) }
    try state.withLock { state throws(TransportError) in
      if state.isFinished { throw .streamClosed }
      try state.checkWritable()
    }
    guard !data.isEmpty else { return }
    let countdown = Countdown(limit)
    var rest = data[...]
    do throws(TransportError) {
      while !rest.isEmpty {
        let piece = Data(rest.prefix(Self.pieceBytes))
        rest = rest.dropFirst(piece.count)
        let output = try state.withLock { state throws(TransportError) in
          if state.isClosed { throw .streamClosed }
          try state.session.write(piece)
          return state.session.takeOutput()
        }
        try await below.write(output, within: countdown.left)
      }
    } catch {
      endWriting(after: error)
      throw error
    }
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try beginTurn(.writing)
    defer { endTurn(.writing) }
    let output: Data? = try state.withLock { state throws(TransportError) in
      try state.checkWritable()
      if state.isFinished { return nil }
      state.isFinished = true
      state.session.closeNotify()
      return state.session.takeOutput()
    }
    guard let output else { return }
    do throws(TransportError) {
      try await below.write(output, within: limit)
    } catch {
      endWriting(after: error)
      throw error
    }
  }

  /// Ends writing, because the peer has received an unknown part of the bytes. Bytes of the peer, such as an early
  /// response, can still be read, unless a limit or the caller ended the write.
  private func endWriting(after error: TransportError) {
    switch error.stage {
    case .timeout, .cancelled:
      state.withLock { $0.isClosed = true }
      below.close()
    default: state.withLock { $0.writeFailure = error }
    }
  }

  // MARK: closing

  func close() {
    let alert: Data? = state.withLock { state in
      if state.isClosed { return nil }
      state.isClosed = true
      if state.turns.contains(.writing) || state.isFinished { return Data() }
      if case .failed = state.end { return Data() }
      if state.writeFailure != nil { return Data() }
      state.session.closeNotify()
      return state.session.takeOutput()
    }
    guard let alert else { return }
    guard !alert.isEmpty else { return below.close() }
    // Let the peer distinguish our end from a broken connection.
    Task { [below] in
      try? await below.write(alert, within: Self.farewell)
      below.close()
    }
  }

  private func beginTurn(_ turn: Turns) throws(TransportError) {
    try state.withLock { state throws(TransportError) in try state.turns.begin(turn) }
  }

  private func endTurn(_ turn: Turns) { state.withLock { _ = $0.turns.remove(turn) } }
}
