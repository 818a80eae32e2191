// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Reading for who has it, until there is nothing more, or its share of the turn is used up.
extension HTTPConnection {
  /// Reads before others have their turn: 512 KiB, as over HTTP/2.
  private static let turnReads = 8

  /// Its link is ready.
  func ready(readable: Bool, writable: Bool) {
    if isClosed { return }
    if let http2 { return http2.ready(readable: readable, writable: writable) }
    guard let exchange else { return host.idleConnectionStirred(self) }
    if writable { exchange.writable() }
    // An exchange may have ended, and another begun, meanwhile: bytes are for the exchange that has the connection.
    if readable { read() }
  }

  /// Reads for the exchange that has it, while there is more than was read: a fast body would otherwise take a turn of
  /// the loop, and wake its reader, for each buffer.
  func read() {
    noteReading()
    for _ in 0..<Self.turnReads where !readOnce() { return }
    readOn()
  }

  func noteReading() { readAt = host.engine.now }

  /// Continues to read in the next turn, where no readiness may be reported of unread bytes.
  func readOn() {
    guard !isClosed, link.hidesInput, !readsOn else { return }
    readsOn = true
    host.engine.noteEvent { [weak self] in
      guard let self else { return }
      readsOn = false
      if readAt == host.engine.now { return readOn() }
      if let http2 { http2.read() } else { read() }
    }
  }

  /// Whether there may be more at once.
  private func readOnce() -> Bool {
    guard !isClosed, let exchange, !exchange.receivingPaused, held.isEmpty else {
      isBulk = false
      return false
    }
    if isBulk, let space = exchange.bodySpace { return readOnce(into: space, for: exchange) }
    return host.engine.context.withScratch { readOnce(into: $0, for: exchange) }
  }

  private func readOnce(into space: UnsafeMutableRawBufferPointer, for exchange: HTTP1Call) -> Bool {
    let step = receive(into: space)
    guard case .moved(let count) = step else {
      isBulk = false
      noteEnd(step, for: exchange)
      return false
    }
    // Amid a large body a record that is not full says nothing of those behind it.
    isBulk = count + Self.recordBytes > space.count || isBulk && !facts.readsWhole
    // Behind a record of TLS another may lie.
    isReadEmpty = facts.readsWhole && count < space.count
    exchange.receive(UnsafeRawBufferPointer(rebasing: space[..<count]))
    isReadEmpty = false
    return isBulk || link.mayHaveMore
  }

  private func noteEnd(_ step: LinkStep, for exchange: HTTP1Call) {
    switch step {
    case .moved, .wait: break
    case .end(let isClean): exchange.connectionEnded(cleanly: isClean)
    case .failed: exchange.receivingFailed(link.failure ?? .goneBeforeSending)
    }
  }
}
