// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WebSocketCore {
  func readLoop(_ leftover: [UInt8]) async {
    var decoder = WebSocketDecoder(configuration.decoding(deflate))
    leftover.withUnsafeBytes { decoder.receive($0) }
    while true {
      do throws(WebSocketViolation) {
        while let event = try decoder.next() {
          if await handle(event) { return await endAfterClose() }
        }
      } catch {
        return await fail(error)
      }
      let isInsideFrame = decoder.isInsideDataFrame
      monitor.change { $0.pulse.isInsideFrame = isInsideFrame }
      do throws(TransportError) {
        guard let data = try await stream.read() else { return lost(nil) }
        monitor.change { $0.pulse.hasReceived = true }
        data.withUnsafeBytes { decoder.receive($0) }
      } catch {
        return lost(error)
      }
    }
  }

  /// True for the last event.
  private func handle(_ event: WebSocketDecoder.Event) async -> Bool {
    switch event {
    case .piece(let piece): await deliver(piece)
    case .ping(let payload):
      monitor.change { state in
        state.receivedPings.append(Data(payload))
        if configuration.answersPings { state.outbox.appendPong(Data(payload)) }
      }
    case .pong(let payload): resolve(Data(payload))
    case .close(let code, let reason):
      monitor.change { $0.received = (code, reason) }
      // The code comes back as it came (RFC 6455 §5.5.1).
      beginClosing(.remote, code: code, reason: "", flushing: false)
      return true
    }
    return false
  }

  /// Hands a piece to the observers; waits while the slowest of them has too much unread.
  private func deliver(_ piece: WebSocketPiece) async {
    let fragment = WebSocketFragment(
      kind: piece.kind == .text ? .text : .binary, data: Data(piece.bytes), isFirst: piece.isFirst,
      isFinal: piece.isFinal)
    let isTaken = monitor.change { $0.take(fragment) }
    if isTaken { return }
    monitor.change { state in
      state.pulse.isHeldUp = true
      state.pulse.wasHeldUp = true
    }
    // Cancelled when it has ended: then nobody wants it.
    _ = await monitor.wait { $0.log.hasRoom || $0.isLeaving || $0.isEnded }
    monitor.change { state in
      state.pulse.isHeldUp = false
      _ = state.take(fragment)
    }
  }

  private func resolve(_ payload: Data) {
    let now = time.now()
    let answered = monitor.change { state in
      let answered = state.pings.take(answeredBy: payload)
      if answered.contains(where: { $0.id == state.pulse.awaited }) { state.pulse.awaited = nil }
      return answered
    }
    for ping in answered {
      ping.answer?.resume(
        returning: .success(WebSocketPong(payload: ping.payload, roundTrip: now - ping.sentAt)))
    }
  }

  /// Both sides have said Close, or will when ours is written. The server ends the connection, or we do after a while
  /// (RFC 6455 §7.1.1).
  private func endAfterClose() async {
    _ = await monitor.wait(until: \.isWritingOver)
    end(closingStream: false) { .closed($0.close) }
    await linger()
  }

  /// The server broke the protocol: it is told, as far as it listens, and everybody else at once.
  ///
  /// What came before is read and answered first, if that does not take long: it was sent in good order.
  private func fail(_ violation: WebSocketViolation) async {
    _ = await interruptible(within: Self.lingerLimit, ignoringCancellation: true, time: time) { [monitor] in
      _ = await monitor.wait { $0.log.isCaughtUp || $0.isEnded }
    }
    monitor.change { $0.outbox.setClose(code: violation.closeCode, reason: "", flushing: false) }
    end(closingStream: false) { state in
      state.received == nil ? .failed(WebSocketError(violation)) : .closed(state.close)
    }
    _ = await interruptible(within: Self.lingerLimit, ignoringCancellation: true, time: time) { [monitor] in
      _ = await monitor.wait(until: \.isWritingOver)
    }
    await linger()
  }

  /// Lets the server end the connection: to close with bytes unread would reset it, and overtake our Close frame.
  private func linger() async {
    _ = await interruptible(within: Self.lingerLimit, ignoringCancellation: true, time: time) { [stream] in
      try? await stream.finishWriting()
      do throws(TransportError) {
        while try await stream.read() != nil {}
      } catch {
        return
      }
    }
    end { .closed($0.close) }
  }
}

extension WebSocketCore.State {
  /// Appends a piece to the log; false when there is no room. One that cannot be kept while we leave is dropped, and all
  /// that follow.
  mutating func take(_ piece: WebSocketFragment) -> Bool {
    if isEnded || isCut { return true }
    if log.hasRoom {
      log.append(piece)
      return true
    }
    guard isLeaving else { return false }
    isCut = true
    return true
  }
}
