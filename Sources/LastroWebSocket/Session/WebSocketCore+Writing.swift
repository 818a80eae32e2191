// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WebSocketCore {
  /// Frames that wait are written together, up to about so many bytes.
  private static let batchBytes = 16_384

  private struct Batch {
    var bytes = Data()
    var finished: [UInt64] = []
    var hasPing = false
    var hasClose = false
  }

  /// The only one who writes, so that no frame is ever begun and not ended while the socket lives.
  func writeLoop() async {
    var encoder = WebSocketEncoder(
      role: .client, deflate: deflate, minimumCompressedBytes: configuration.compression?.minimumBytes ?? 1024)
    while await monitor.wait(until: { $0.outbox.hasFrame || $0.isStreamDone }) {
      let batch = nextBatch(&encoder)
      if batch.bytes.isEmpty {
        if monitor.read(\.isStreamDone) { return }
        // What woke us was given up since.
        continue
      }
      do throws(TransportError) {
        try await write(batch.bytes)
      } catch {
        return await stopWriting(error)
      }
      let answers = monitor.change { state in
        if batch.hasPing { state.pulse.isPingWritten = true }
        if batch.hasClose { state.isCloseWritten = true }
        return batch.finished.compactMap { state.outbox.takeAnswer($0) }
      }
      for answer in answers { answer.resume(returning: .success(())) }
      if batch.hasClose { return }
    }
  }

  /// In pieces, so that the keep-alive sees a slow line move.
  private func write(_ bytes: Data) async throws(TransportError) {
    for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: Self.batchBytes) {
      try await stream.write(Data(bytes[start..<min(start + Self.batchBytes, bytes.endIndex)]))
      monitor.change { $0.pulse.hasWritten = true }
    }
  }

  /// Nothing can be sent any more, but what the server sent before, such as why it closes, may still be read.
  private func stopWriting(_ error: TransportError) async {
    let (answers, pongs) = monitor.change { state in
      state.writeError = error
      return (state.outbox.clear(), state.pings.takeAll())
    }
    let refusal = monitor.read(\.refusal)
    for answer in answers { answer.resume(returning: .failure(refusal)) }
    for pong in pongs { pong.resume(returning: .failure(refusal)) }
    while true {
      let end = await interruptible(within: Self.lingerLimit, ignoringCancellation: true, time: time) { [monitor] in
        _ = await monitor.wait { $0.isEnded || $0.isStreamDone }
      }
      if case .success = end { return }
      // The time in which observers keep the reader waiting does not count.
      guard await monitor.wait(until: { !$0.pulse.isHeldUp || $0.isEnded }) else { return }
      let wasHeldUp = monitor.change { state in
        defer { state.pulse.wasHeldUp = state.pulse.isHeldUp }
        return state.pulse.wasHeldUp
      }
      if !wasHeldUp { return lost(error) }
    }
  }

  private func nextBatch(_ encoder: inout WebSocketEncoder) -> Batch {
    var batch = Batch()
    while batch.bytes.count < Self.batchBytes,
      let frame = monitor.change({ state in
        state.isStreamDone ? nil : state.outbox.takeFrame(upTo: configuration.maximumOutgoingFrameBytes)
      })
    {
      switch frame {
      case .data(let kind, let data, let isFirst, let isFinal, let finishes):
        let kind: WebSocketKind = kind == .text ? .text : .binary
        let key = maskKey
        data.withUnsafeBytes { payload in
          batch.bytes.append(
            contentsOf: encoder.data(kind, payload, isFirst: isFirst, isFinal: isFinal, key: key))
        }
        if let finishes { batch.finished.append(finishes) }
      case .control(let opcode, let payload):
        batch.bytes.append(contentsOf: encoder.control(opcode, payload, key: maskKey))
        batch.hasPing = batch.hasPing || opcode == .ping
        batch.hasClose = opcode == .close
      }
    }
    return batch
  }

  // MARK: messages

  func send(_ kind: WebSocketMessage.Kind, _ data: Data) async throws(WebSocketError) {
    let id = monitor.change { $0.outbox.makeID() }
    try await enqueue(WebSocketOutbox.Job(id: id, stream: id, kind: kind, data: data, isFirst: true, isFinal: true))
  }

  func makeID() -> UInt64 { monitor.change { $0.outbox.makeID() } }

  /// - Parameter taken: becomes true when the job is among those to be sent.
  func enqueue(_ job: WebSocketOutbox.Job, taken: Lock<Bool>? = nil) async throws(WebSocketError) {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (answer: WebSocketOutbox.Answer) in
        let refusal: WebSocketError? = monitor.change { state in
          if Task.isCancelled { return .cancelled }
          guard state.canSend else { return state.refusal }
          state.outbox.append(job, answer)
          return nil
        }
        if let refusal {
          answer.resume(returning: .failure(refusal))
        } else {
          taken?.withLock { $0 = true }
        }
      }
    } onCancel: {
      monitor.change { $0.outbox.giveUp(job.id) }?.resume(returning: .failure(.cancelled))
    }
    try result.get()
  }

  // MARK: pings

  /// - Parameter payload: `nil` for one of our own, which no other ping has.
  func ping(_ payload: Data?, within limit: Duration?) async throws(WebSocketError) -> WebSocketPong {
    let id = makeID()
    let payload = payload ?? ownPayload()
    let outcome = await interruptible(within: limit, time: time) { [self] in await waitForPong(id, payload) }
    switch outcome {
    case .success(let result): return try result.get()
    case .failure(.limit): throw .timedOut("no pong came")
    case .failure(.cancelled): throw .cancelled
    }
  }

  private func ownPayload() -> Data {
    withUnsafeBytes(of: random.next().bigEndian) { Data($0) }
  }

  private func waitForPong(_ id: UInt64, _ payload: Data) async -> Result<WebSocketPong, WebSocketError> {
    let now = time.now()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (answer: WebSocketPings.Answer) in
        let refusal: WebSocketError? = monitor.change { state in
          if Task.isCancelled { return .cancelled }
          guard state.canSend else { return state.refusal }
          state.addPing(.init(id: id, payload: payload, sentAt: now, answer: answer))
          return nil
        }
        if let refusal { answer.resume(returning: .failure(refusal)) }
      }
    } onCancel: {
      let answer = monitor.change { state in
        state.outbox.giveUpPing(id)
        return state.pings.giveUp(id)
      }
      answer?.resume(returning: .failure(.cancelled))
    }
  }

  func pong(_ payload: Data) throws(WebSocketError) {
    let refusal: WebSocketError? = monitor.change { state in
      guard state.canSend else { return state.refusal }
      state.outbox.appendPong(payload)
      return nil
    }
    if let refusal { throw refusal }
  }

  func keepAliveLoop(_ interval: Duration) async {
    while true {
      do { try await time.sleep(interval) } catch { return }
      let (id, payload, now) = (makeID(), ownPayload(), time.now())
      let isDead: Bool? = monitor.change { state in
        guard state.canSend else { return nil }
        if state.pulse.isDead { return true }
        if state.pulse.awaited == nil {
          state.pulse.begin(id)
          state.addPing(.init(id: id, payload: payload, sentAt: now))
        } else {
          state.pulse.goOn()
        }
        return false
      }
      guard let isDead else { return }
      guard isDead else { continue }
      end { _ in
        .failed(
          WebSocketError(
            .keepAliveFailed, "no pong came within \(interval)", hint: "the server or the way to it is gone"))
      }
      return
    }
  }
}

extension WebSocketCore.State {
  fileprivate mutating func addPing(_ ping: WebSocketPings.Ping) {
    pings.append(ping)
    pings.prune()
    outbox.appendPing(ping.id, ping.payload)
  }
}
