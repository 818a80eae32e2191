// SPDX-License-Identifier: Apache-2.0

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
      if batch.bytes.isEmpty { return }
      do throws(TransportError) {
        try await stream.write(batch.bytes)
      } catch {
        return lost(error)
      }
      let answers = monitor.change { state in
        state.pulse.hasWritten = true
        if batch.hasPing { state.pulse.isPingWritten = true }
        if batch.hasClose { state.isCloseWritten = true }
        return batch.finished.compactMap { state.outbox.takeAnswer($0) }
      }
      for answer in answers { answer.resume(returning: .success(())) }
      if batch.hasClose { return }
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

  func enqueue(_ job: WebSocketOutbox.Job) async throws(WebSocketError) {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (answer: WebSocketOutbox.Answer) in
        let refusal: WebSocketError? = monitor.change { state in
          if Task.isCancelled { return .cancelled }
          guard state.isOpen else { return state.refusal }
          state.outbox.append(job, answer)
          return nil
        }
        if let refusal { answer.resume(returning: .failure(refusal)) }
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
          guard state.isOpen else { return state.refusal }
          state.addPing(.init(id: id, payload: payload, sentAt: now, answer: answer))
          return nil
        }
        if let refusal { answer.resume(returning: .failure(refusal)) }
      }
    } onCancel: {
      monitor.change { $0.pings.giveUp(id) }?.resume(returning: .failure(.cancelled))
    }
  }

  func pong(_ payload: Data) throws(WebSocketError) {
    let refusal: WebSocketError? = monitor.change { state in
      guard state.isOpen else { return state.refusal }
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
        guard state.isOpen else { return nil }
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
      if isDead {
        return end { _ in
          .failed(
            WebSocketError(
              .keepAliveFailed, "no pong came within \(interval)", hint: "the server or the way to it is gone"))
        }
      }
    }
  }
}

extension WebSocketCore.State {
  fileprivate mutating func addPing(_ ping: WebSocketPings.Ping) {
    pings.append(ping)
    pings.prune()
    outbox.appendPing(ping.payload)
  }
}
