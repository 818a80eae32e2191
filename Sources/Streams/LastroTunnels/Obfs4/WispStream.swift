// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// An obfs4 stream after its handshake: frames over the stream below.
final class WispStream: LoopStream {
  private struct State {
    var framed = FramedState()
    /// The seed from the server, for the tables of the next write.
    var seed: [UInt8]?
    /// The number of pauses that have ended.
    var pauses = 0
  }

  /// A class because a lock's state must be copyable and the reader is not.
  private final class Reading {
    var frames: Obfs4FrameReader

    init(_ frames: consuming Obfs4FrameReader) { self.frames = frames }
  }

  private final class Writing {
    var traffic: Obfs4Traffic

    init(_ traffic: consuming Obfs4Traffic) { self.traffic = traffic }
  }

  private static let readBytes = 65_536
  /// The unit of a delay in a plan.
  private static let delayUnit = Duration.microseconds(100)

  let facts: StreamFacts
  private let below: any ByteStream
  var runsOnLoops: Bool { (below as? any LoopStream)?.runsOnLoops == true }
  private let time: TimeSource
  private let state = Watched(State())
  /// Held while frames are opened, with a separate lock for sealing, so that neither direction waits for the other.
  private let reading: Lock<Reading>
  private let writing: Lock<Writing>

  /// - Parameter below: the stream below, which only this stream may read and write from now on.
  init(
    _ session: consuming Obfs4Session, over below: any ByteStream, mode: WispServer.Timing, time: TimeSource
  ) throws(Obfs4Failure) {
    let leftover = session.leftover
    let reader = session.reader, writer = session.writer
    let seed = RandomSource.system.bytes(Obfs4Frame.seedLength)
    let traffic = try Obfs4Traffic(writer, mode: mode, seed: seed, random: .system)
    reading = Lock(Reading(reader))
    writing = Lock(Writing(traffic))
    self.below = below
    self.time = time
    facts = StreamFacts(
      remoteAddress: below.facts.remoteAddress, remotePort: below.facts.remotePort, localPort: below.facts.localPort)
    takeIn(leftover)
  }

  deinit { below.close() }

  // MARK: reading

  func hasEnded(on loop: AnyObject?) -> Bool { below.isKnownToHaveEnded(on: loop) }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else { throw .emptyRead(maximum) }
    try begin(.reading)
    defer { end(.reading) }
    let countdown = Countdown(limit, now: time.now)
    while true {
      if let step = state.change({ $0.framed.taken(upTo: maximum) }) { return try step.get() }
      // A server that sends only padding must not prevent cancellation.
      if Task.isCancelled { throw .cancelled(requestSent: true) }
      if let bytes = try await below.read(upTo: Self.readBytes, within: countdown.left) {
        takeIn([UInt8](bytes))
      } else {
        takeEnd()
      }
    }
  }

  /// Opens frames. If a frame is invalid, the bytes before it can still be read, and the connection is closed.
  private func takeIn(_ bytes: [UInt8]) {
    var output: [UInt8] = []
    let (seed, failure) = reading.withLock { reading -> ([UInt8]?, Obfs4Failure?) in
      do throws(Obfs4Failure) {
        try reading.frames.receive(bytes, into: &output)
        return (reading.frames.takeSeed(), nil)
      } catch {
        return (nil, error)
      }
    }
    state.change { state in
      state.framed.takeIn(output, failure?.carrying)
      if let seed { state.seed = seed }
    }
    if failure != nil { below.close() }
  }

  private func takeEnd() {
    let isWithinFrame = reading.withLock { $0.frames.isWithinFrame }
    state.change { state in
      state.framed.hasEnded = true
      if isWithinFrame { state.framed.failure = Obfs4Failure.truncated.carrying }
    }
    if isWithinFrame { below.close() }
  }

  // MARK: writing

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    if let refusal = state.read(\.framed.refusal) { throw refusal }
    let countdown = Countdown(limit, now: time.now)
    do throws(TransportError) {
      var rest = [UInt8](data)[...]
      while !rest.isEmpty {
        let part = rest.prefix(Obfs4Traffic.maximumPart)
        rest = rest.dropFirst(part.count)
        try await write(pieces: plan(part), isLast: rest.isEmpty, within: countdown)
      }
    } catch {
      // The server may have received any part of these bytes.
      switch error.stage {
      case .timeout, .cancelled: close()
      default: state.change { $0.framed.writeFailure = error }
      }
      throw state.read(\.framed.failure) ?? error
    }
  }

  private func write(
    pieces: [Obfs4Piece], isLast: Bool, within countdown: Countdown
  ) async throws(TransportError) {
    for (index, piece) in pieces.enumerated() {
      try await below.write(Data(piece.bytes), within: countdown.left)
      guard piece.delay > 0 else { continue }
      do throws(TransportError) {
        try await pause(Self.delayUnit * piece.delay, within: countdown)
      } catch {
        // The pause after the last piece was interrupted, when everything had been written.
        if isLast, index == pieces.count - 1, !state.read(\.framed.isClosed) { return }
        throw error
      }
    }
  }

  private func plan(_ part: ArraySlice<UInt8>) throws(TransportError) -> [Obfs4Piece] {
    let seed = state.change { $0.seed.take() }
    do throws(Obfs4Failure) {
      return try writing.withLock { writing throws(Obfs4Failure) in
        if let seed { try writing.traffic.use(seed: seed) }
        return try writing.traffic.burst(part)
      }
    } catch {
      throw error.carrying
    }
  }

  /// Pauses. The pause ends early when the stream is closed or fails.
  private func pause(_ duration: Duration, within countdown: Countdown) async throws(TransportError) {
    let number = state.read(\.pauses) + 1
    let sleeper = Task { [state, time] in
      try? await time.sleep(duration)
      state.change { $0.pauses = max($0.pauses, number) }
    }
    defer { sleeper.cancel() }
    let outcome = await state.wait(within: countdown.left, time: time) {
      $0.pauses >= number || $0.framed.isClosed || $0.framed.failure != nil
    }
    try outcome.mapError { TransportError.interrupted($0, within: countdown.limit) }.get()
    if let refusal = state.read(\.framed.refusal) { throw refusal }
  }

  /// Ends the outgoing direction. All bytes were already written, and the protocol cannot signal the end: FIN would end
  /// both directions.
  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    let failure = state.change { $0.framed.finishWriting() }
    if let failure { throw failure }
  }

  func close() {
    state.change { $0.framed.close() }
    below.close()
  }

  private func begin(_ turn: Turns) throws(TransportError) {
    try state.change { state throws(TransportError) in try state.framed.turns.begin(turn) }
  }

  private func end(_ turn: Turns) { state.change { _ = $0.framed.turns.remove(turn) } }
}
