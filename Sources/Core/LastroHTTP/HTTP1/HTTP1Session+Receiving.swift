// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Receiving the response.
extension HTTP1Session {
  /// The maximum number of reads before other connections get their turn: 512 KiB in all, as over HTTP/2.
  private static let turnReads = 8

  // MARK: Reading

  /// Reads for as long as more bytes are likely to be available. A fast body would otherwise need a turn of the loop,
  /// and wake its reader, for each buffer.
  func read() {
    connection.beganReading()
    for _ in 0..<Self.turnReads where !readOnce() { return }
    connection.readOn()
  }

  /// Reads once, and returns whether more bytes may be available at once.
  private func readOnce() -> Bool {
    // An exchange may have ended and another begun in the meantime: bytes belong to the current exchange.
    guard !connection.isClosed, let exchange, !exchange.receiver.isPaused, connection.held.isEmpty else {
      isBulk = false
      return false
    }
    let space = bodySpace(of: exchange) ?? exchange.engine.context.scratch
    let step = connection.link.receive(into: space)
    guard case .moved(let count) = step else {
      isBulk = false
      handleEnd(step, of: exchange)
      return false
    }
    // In a large body, a TLS record that is not full does not mean that no further records are available.
    isBulk = count + HTTPConnection.recordBytes > space.count || isBulk && !connection.facts.readsWhole
    // With TLS, another record may follow the one that was read.
    connection.isReadEmpty = connection.facts.readsWhole && count < space.count
    receive(UnsafeRawBufferPointer(rebasing: space[..<count]), for: exchange)
    connection.isReadEmpty = false
    return isBulk || connection.link.mayHaveMore
  }

  private func handleEnd(_ step: LinkStep, of exchange: Exchange) {
    switch step {
    case .moved, .wait: break
    case .end(let isClean): ended(exchange, cleanly: isClean)
    case .failed: ended(exchange, cleanly: false, connection.link.failure ?? .goneBeforeSending)
    }
  }

  /// Returns memory of the body stream to receive into, if many bytes are likely to arrive next, and they can only be
  /// body bytes; `nil` otherwise.
  private func bodySpace(of exchange: Exchange) -> UnsafeMutableRawBufferPointer? {
    guard isBulk, let length = exchange.receiver.route.framing.contentLength, let space = exchange.receiver.streamSpace,
      length - exchange.receiver.wireBytes >= Int64(space.count)
    else { return nil }
    return space
  }

  // MARK: Receiving

  /// Processes received bytes. Bytes that cannot be delivered now stay with the connection.
  private func receive(_ bytes: UnsafeRawBufferPointer, for exchange: Exchange) {
    // The server cannot respond to a request of which it was sent nothing.
    if !hasSent {
      if !exchange.host.sendAgain(exchange) { exchange.fail(.spokenFirst) }
      return
    }
    exchange.receivedBytes()
    do throws(HTTP1Failure) {
      try parse(bytes, for: exchange)
    } catch {
      return fail(exchange, error)
    }
    guard self.exchange === exchange else { return }
    // The response may have asked for the body of the request, or refused it.
    if machine.writing == .body || machine.writing == .stopped { pump(exchange) } else { updateTimer(of: exchange) }
  }

  /// Parses bytes of a response. The end of the response may start the next exchange on this session, so the caller
  /// must compare its exchange afterwards.
  private func parse(_ bytes: UnsafeRawBufferPointer, for exchange: Exchange) throws(HTTP1Failure) {
    var position = 0
    let now = UInt64(clamping: exchange.lastActivity)
    while true {
      switch try machine.next(in: bytes, at: &position, now: now) {
      case .needsMore:
        if position == bytes.count { return }
      case .interim(let head): exchange.received(interim: head)
      case .head(let head):
        if addsExpect, machine.refusesExpect, exchange.host.sendWithoutExpect(exchange) { return }
        guard accept(head, for: exchange) else { return }
      case .body(let count):
        let part = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        let verdict: BodyVerdict
        do throws(TransportError) { verdict = try exchange.receive(body: part) } catch { return exchange.fail(error) }
        switch verdict {
        case .taken:
          machine.markUsed(count)
          exchange.receiver.wireBytes += Int64(count)
          position += count
        case .full: return hold(UnsafeRawBufferPointer(rebasing: bytes[position...]))
        case .refused: return exchange.finish()
        }
      case .end: return endResponse(of: exchange)
      case .tunnel: return becomeTunnel(exchange, with: UnsafeRawBufferPointer(rebasing: bytes[position...]))
      }
    }
  }

  /// Processes the final head; returns false if it has ended the exchange.
  private func accept(_ head: ResponseHead, for exchange: Exchange) -> Bool {
    let host = exchange.host
    exchange.version = head.version.minor == 0 ? "1.0" : "1.1"
    if machine.continueTimedOut { host.mayExpect = false }
    do throws(TransportError) {
      if head.status == 407, host.route.proxy != nil { throw .proxyWantsCredentials }
      let response = try host.heads.response(head, known: machine.takeKnown())
      connection.keepAlive = host.heads.keepAlive
      if try exchange.receive(response, of: head, machine.responseFraming) { return true }
      exchange.finish()
    } catch {
      exchange.fail(error)
    }
    return false
  }

  /// Keeps bytes until the reader has room, and stops watching the link for reading.
  private func hold(_ bytes: UnsafeRawBufferPointer) {
    connection.held = Array(bytes)
    connection.watch(read: false, write: wantsToWrite)
  }

  func resumeReceiving() {
    guard let exchange else { return }
    let held = connection.held
    connection.held = []
    held.withUnsafeBytes { if !$0.isEmpty { receive($0, for: exchange) } }
    guard self.exchange === exchange, !exchange.receiver.isPaused else { return }
    connection.watch(read: true, write: wantsToWrite)
    // The descriptor does not become ready for bytes that TLS has already read, or for an end that was already found.
    connection.read()
  }

  // MARK: The rest of a redirect's body

  var redirectPatience: Duration? { machine.mayKeepConnection ? .milliseconds(100) : nil }

  func answeredAtHead() {
    if let exchange { exchange.host.tell(.drains(exchange.number)) }
  }
}
