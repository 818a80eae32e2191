// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A Shadowsocks stream: salt and chunks over the stream below.
final class ShadowsocksStream: LoopStream {
  /// The sending state of salt and address.
  private enum Beginning {
    /// They wait for the first bytes of the application.
    case held
    /// They are to be sent alone.
    case wanted
    /// They are being sent alone.
    case leaving
    case gone
  }

  private struct State {
    var framed = FramedState()
    var beginning = Beginning.held
    /// Whether bytes of the application were sent.
    var isUsed = false

    /// - Returns: whether the caller must send salt and address.
    mutating func claim(_ next: Beginning) -> Bool {
      guard beginning == .held || beginning == .wanted, !framed.isClosed, framed.failure == nil else { return false }
      beginning = next
      return true
    }

    /// Ends the wait of salt and address for the application's bytes.
    mutating func hurry() {
      if beginning == .held { beginning = .wanted }
    }
  }

  /// A class, because the reader is not copyable and the state of a lock must be.
  private final class Reading {
    var chunks: ShadowsocksReader

    init(_ chunks: consuming ShadowsocksReader) { self.chunks = chunks }
  }

  /// The outgoing chunks, with their own salt.
  final class Writing: Sendable {
    private final class Chunks {
      var writer: ShadowsocksWriter

      init(_ writer: consuming ShadowsocksWriter) { self.writer = writer }
    }

    let salt: [UInt8]
    private let chunks: Lock<Chunks>

    init(_ key: ShadowsocksKey, salt: [UInt8]) throws(TransportError) {
      self.salt = salt
      do throws(ShadowsocksFailure) {
        chunks = Lock(Chunks(try ShadowsocksWriter(key, salt: salt)))
      } catch {
        throw error.dialing
      }
    }

    func sealed(_ bytes: [UInt8], for name: String) throws(TransportError) -> Data {
      var output: [UInt8] = []
      do throws(ShadowsocksFailure) {
        try chunks.withLock { chunks throws(ShadowsocksFailure) in
          try chunks.writer.write(bytes[...], into: &output)
        }
      } catch {
        throw error.carrying(of: name, isUsed: true)
      }
      return Data(output)
    }
  }

  private static let readBytes = 65_536
  /// The number of bytes that are sealed at a time, in whole chunks.
  private static let writtenBytes = 16 * ShadowsocksChunk.maximumPayload
  /// The time that salt and address wait for the application.
  private static let heldTime = Duration.milliseconds(10)

  let facts: StreamFacts
  private let name: String
  private let address: [UInt8]
  private let below: any ByteStream
  var runsOnLoops: Bool { (below as? any LoopStream)?.runsOnLoops == true }
  private let time: TimeSource
  private let state = Watched(State())
  /// Held while chunks are opened, so that neither direction waits for the other.
  private let reading: Lock<Reading>
  private let writing: Writing

  /// Creates a stream to a target through a Shadowsocks server.
  ///
  /// - Parameters:
  ///   - address: the target's address in its wire format.
  ///   - below: the stream below, which only this stream may read and write from now on.
  init(
    to address: [UInt8], _ server: ShadowsocksServer, _ writing: Writing, over below: any ByteStream, time: TimeSource
  ) {
    name = server.name
    self.address = address
    self.below = below
    self.time = time
    self.writing = writing
    reading = Lock(Reading(ShadowsocksReader(server.key, refusing: writing.salt)))
    facts = StreamFacts(
      remoteAddress: below.facts.remoteAddress, remotePort: below.facts.remotePort, localPort: below.facts.localPort)
    // The task does not retain this stream, so that the stream ends when nothing else holds it.
    Task { [state, below, name] in
      _ = await state.wait(within: Self.heldTime, time: time) { $0.beginning != .held || $0.framed.isClosed }
      await Self.sendHeldAddress(address, state, writing, below, name)
    }
  }

  deinit { close() }

  /// Sends salt and address, unless they were sent with the application's first bytes.
  private static func sendHeldAddress(
    _ address: [UInt8], _ state: Watched<State>, _ writing: Writing, _ below: any ByteStream, _ name: String
  ) async {
    guard state.change({ $0.claim(.leaving) }) else { return }
    let failure: TransportError?
    do throws(TransportError) {
      try await below.write(writing.sealed(address, for: name), within: nil)
      failure = nil
    } catch {
      failure = error
    }
    state.change { state in
      state.beginning = .gone
      if let failure { state.framed.writeFailure = failure.beforeShadowsocksAnswer(of: name, isUsed: false) }
    }
  }

  // MARK: reading

  func hasEnded(on loop: AnyObject?) -> Bool { below.isKnownToHaveEnded(on: loop) }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else { throw .emptyRead(maximum) }
    try begin(.reading)
    defer { end(.reading) }
    let countdown = Countdown(limit, now: time.now)
    while true {
      if let step = state.change({ $0.framed.taken(upTo: maximum) }) { return try step.get() }
      // A server that causes many empty reads must not prevent cancellation.
      if Task.isCancelled { throw .cancelled(requestSent: true) }
      state.change { $0.hurry() }
      if let bytes = try await next(within: countdown.left) { takeIn(bytes) } else { takeEnd() }
    }
  }

  private func next(within limit: Duration?) async throws(TransportError) -> Data? {
    do throws(TransportError) {
      return try await below.read(upTo: Self.readBytes, within: limit)
    } catch {
      let hasOpened = reading.withLock { $0.chunks.hasOpened }
      let told = hasOpened ? error : error.beforeShadowsocksAnswer(of: name, isUsed: state.read(\.isUsed))
      switch error.stage {
      // Nothing is lost: the next read continues.
      case .timeout, .cancelled: break
      default:
        state.change { $0.framed.failure = told }
        below.close()
      }
      throw told
    }
  }

  /// Opens chunks. If a chunk is invalid, the bytes before it can still be read, and the connection is closed.
  private func takeIn(_ bytes: Data) {
    var output: [UInt8] = []
    let failure = reading.withLock { reading -> ShadowsocksFailure? in
      do throws(ShadowsocksFailure) {
        try reading.chunks.receive(bytes, into: &output)
        return nil
      } catch {
        return error
      }
    }
    state.change { state in
      state.framed.takeIn(output, failure?.carrying(of: name, isUsed: state.isUsed))
    }
    if failure != nil { below.close() }
  }

  private func takeEnd() {
    let (isWithin, hasOpened) = reading.withLock { ($0.chunks.isWithin, $0.chunks.hasOpened) }
    state.change { state in
      state.framed.hasEnded = true
      if isWithin {
        state.framed.failure = ShadowsocksFailure.truncated.carrying(of: name, isUsed: state.isUsed)
      } else if !hasOpened {
        state.framed.failure = .shadowsocksRefused(by: name, isUsed: state.isUsed)
      }
    }
    if isWithin || !hasOpened { below.close() }
  }

  // MARK: writing

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    if let refusal = state.read(\.framed.refusal) { throw refusal }
    guard !data.isEmpty else { return }
    let countdown = Countdown(limit, now: time.now)
    do throws(TransportError) {
      var start = try await beginning(within: countdown)
      var rest = [UInt8](data)[...]
      while !rest.isEmpty {
        let part = rest.prefix(Self.writtenBytes - start.count)
        rest = rest.dropFirst(part.count)
        try await below.write(writing.sealed(start + part, for: name), within: countdown.left)
        start = []
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

  /// Returns the address if it is sent with the first bytes; an empty array if it is sent, or was sent, alone.
  private func beginning(within countdown: Countdown) async throws(TransportError) -> [UInt8] {
    let isOurs = state.change { state in
      state.isUsed = true
      return state.claim(.gone)
    }
    if isOurs { return address }
    let outcome = await state.wait(within: countdown.left, time: time) {
      $0.beginning == .gone || $0.framed.isClosed || $0.framed.failure != nil
    }
    try outcome.mapError { TransportError.interrupted($0, within: countdown.limit) }.get()
    if let refusal = state.read(\.framed.refusal) { throw refusal }
    return []
  }

  /// Ends the outgoing direction. Apart from the address all bytes were already written, and no FIN is sent, because a
  /// server drops the response when it receives one.
  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    let failure = state.change { state in
      state.hurry()
      return state.framed.finishWriting()
    }
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
