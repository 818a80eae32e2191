// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Reading for who has it, until there is nothing more, or its share of the turn is used up.
extension DirectConnection {
  /// Reads before others have their turn: 512 KiB, as over HTTP/2.
  private static let turnReads = 8

  /// Its descriptor is ready.
  func ready(_ ready: Poller.Ready) {
    if let http2 { return http2.ready(ready) }
    guard let exchange else { return host.idleConnectionStirred(self) }
    if ready.writable || ready.failed { exchange.pump() }
    // An exchange may have ended, and another begun, meanwhile: bytes are for the exchange that has the connection.
    if ready.readable || ready.failed { read() }
  }

  /// Reads for the exchange that has it, while there is more than was read: a fast body would otherwise take a turn of
  /// the loop, and wake its reader, for each buffer.
  func read() {
    noteReading()
    for _ in 0..<Self.turnReads where !readOnce() { return }
    readOn()
  }

  func noteReading() { readAt = host.carrier.now }

  /// Reads on in the next turn, where the descriptor may tell nothing of what lies here.
  func readOn() {
    guard !isClosed, hidesInput, !readsOn else { return }
    readsOn = true
    host.carrier.noteDialed { [weak self] in
      guard let self else { return }
      readsOn = false
      if readAt == host.carrier.now { return readOn() }
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
    return host.carrier.withScratch { readOnce(into: $0, for: exchange) }
  }

  private func readOnce(into space: UnsafeMutableRawBufferPointer, for exchange: DirectExchange) -> Bool {
    let step = receive(into: space)
    guard case .moved(let count) = step else {
      isBulk = false
      noteEnd(step, for: exchange)
      return false
    }
    // Amid a large body a record that is not full says nothing of those behind it.
    isBulk = count + Self.recordBytes > space.count || isBulk && hasTLS
    // Behind a record of TLS another may lie.
    isReadEmpty = !hasTLS && count < space.count
    exchange.receive(UnsafeRawBufferPointer(rebasing: space[..<count]))
    isReadEmpty = false
    return isBulk || (isNested ? foundEnd != nil || isCapped : hidesInput)
  }

  private func noteEnd(_ step: Step, for exchange: DirectExchange) {
    switch step {
    case .moved, .wait: break
    case .end(let isClean): exchange.connectionEnded(cleanly: isClean)
    case .failed(let error): exchange.receivingFailed(error)
    }
  }
}
