// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// The driver of a ``WebSocketSession`` over a stream: a task that reads, a task that writes, and the requests of the
/// application. The rules of WebSocket are all in the session.
///
/// The tasks retain it; the ``WebSocket`` in front of it ends them when it is dropped.
final class WebSocketCore: Sendable {
  let shared: SharedWebSocketSession
  let configuration: WebSocketConfiguration
  let isCompressing: Bool
  private let random: RandomSource
  private let time: TimeSource

  var stream: any ByteStream { shared.stream }

  init(
    _ stream: any ByteStream, configuration: WebSocketConfiguration, deflate: WebSocketDeflate?, random: RandomSource,
    time: TimeSource
  ) {
    self.configuration = configuration
    self.random = random
    self.time = time
    isCompressing = deflate != nil
    shared = SharedWebSocketSession(stream, configuration, deflate, random: random, time: time)
  }

  /// - Parameter leftover: bytes that arrived right after the handshake.
  func start(leftover: [UInt8]) {
    shared.run { await self.readLoop(leftover) }
    shared.run { await self.writeLoop() }
    if configuration.keepAlive != nil { shared.run { [shared] in await shared.keepAliveLoop() } }
  }

  // MARK: the stream

  private func readLoop(_ leftover: [UInt8]) async {
    var arrived: Data? = leftover.isEmpty ? nil : Data(leftover)
    while true {
      let intake = await shared.wait(for: .intake) { state, now in
        if let data = arrived.take() { data.withUnsafeBytes { state.session.receive($0) } }
        return state.nextIntake(now)
      }
      switch intake {
      case .work, .wait: continue
      case .over, nil: return
      case .read:
        do throws(TransportError) {
          arrived = try await stream.read()
          if arrived == nil { shared.change { $0.session.receivedEnd(now: $1) } }
        } catch {
          shared.change { $0.broke(error, isWriting: false, $1) }
        }
      }
    }
  }

  /// Writes the output. It is the only task that writes, so that a frame that was begun is always completed while the
  /// socket lives.
  func writeLoop() async {
    var keys: [UInt32] = [], written = 0
    while true {
      // Draw the masking keys without the lock: a source of randomness may be the application's code.
      while keys.count < 32 {
        let bits = random.next()
        keys += [UInt32(truncatingIfNeeded: bits), UInt32(truncatingIfNeeded: bits >> 32)]
      }
      let output = await shared.wait(for: .output) { state, now in
        if written > 0 { state.session.wrote(written, now: now) }
        written = 0
        return state.session.output(keys: &keys)
      }
      switch output {
      case .over, nil: return
      case .finish: try? await stream.finishWriting()
      case .bytes(let bytes):
        do throws(TransportError) { written = try await write(bytes) } catch {
          shared.change { $0.broke(error, isWriting: true, $1) }
        }
      }
    }
  }

  /// Writes the bytes in pieces, so that the keep-alive notices progress on a slow connection. Returns the length of
  /// the last piece, which was not reported to the session.
  private func write(_ bytes: [UInt8]) async throws(TransportError) -> Int {
    var rest = bytes[...]
    while rest.count > WebSocketSession.batchBytes {
      try await stream.write(Data(rest.prefix(WebSocketSession.batchBytes)))
      shared.change { $0.session.wrote(WebSocketSession.batchBytes, now: $1) }
      rest = rest.dropFirst(WebSocketSession.batchBytes)
    }
    try await stream.write(Data(rest))
    return rest.count
  }

  // MARK: requests

  /// - Parameter taken: set to true when the message was queued.
  func send(_ message: WebSocketSession.Outgoing, taken: Lock<Bool>? = nil) async throws(WebSocketError) {
    _ = try await shared.answer(to: message.id) { state, _ in
      if state.session.send(message) { taken?.withLock { $0 = true } }
    }.get()
  }

  /// - Parameter payload: the payload; `nil` for a unique one.
  func ping(_ payload: Data?, within limit: Duration?) async throws(WebSocketError) -> WebSocketPong {
    let id = shared.makeID()
    let payload = payload.map(Array.init) ?? withUnsafeBytes(of: random.next().bigEndian) { Array($0) }
    let outcome = await interruptible(within: limit, time: time) { [self] in
      await shared.answer(to: id) { $0.session.ping(id, payload: payload, now: $1) }
    }
    switch outcome {
    case .success(let result):
      guard let pong = try result.get() else { throw .closed(nil) }
      return pong
    case .failure(.limit): throw .lacksPong(within: limit)
    case .failure(.cancelled): throw .cancelled
    }
  }

  func close(_ code: WebSocketCloseCode?, _ reason: String) async throws(WebSocketError) -> WebSocketClose {
    shared.change { $0.session.close(code: code?.rawValue, reason: reason, now: $1) }
    guard let last = await shared.lastState() else { throw .cancelled }
    if case .closed(let close) = last { return close }
    throw shared.change { state, _ in state.refusal }
  }
}
