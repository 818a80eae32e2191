// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// Sending the request.
extension HTTP1Session {
  /// The maximum size of a body in memory that is sent together with the head, in one write.
  private static let joinedBytes = 16 * 1024
  private static let pieceBytes = 64 * 1024
  /// The maximum number of bytes that are sent from the caller's own memory at once.
  private static let partBytes = 128 * 1024

  /// The number of bytes of the request body that were sent, or are waiting in ``outgoing``.
  var committedBodyBytes: Int { (exchange?.upload.offset ?? 0) - part.count }

  /// Queues a small body, so that it is sent together with the head.
  func joinBody(of exchange: Exchange) {
    guard machine.writing == .body, case .bytes(let data) = exchange.job.request.body.source,
      data.count <= Self.joinedBytes
    else { return }
    fill(exchange, budget: Self.joinedBytes)
  }

  /// Continues to send, because the link accepts bytes again.
  func writable() {
    guard let exchange else { return }
    if isTunnel { return handOver(exchange) }
    // The trust rules may have changed since the exchange began.
    if hasSent || isAdmitted(exchange) { pump(exchange) }
  }

  func resumeSending() {
    if let exchange { pump(exchange) }
  }

  /// Sends the queued bytes and the body, until it must wait for the peer or for the source, or until its share of the
  /// turn is used up.
  func pump(_ exchange: Exchange) {
    var budget = exchange.engine.settings.sentBytesPerTurn
    wantsToWrite = false
    if connection.link.hasLostBytes { machine.writeFailed() }
    while budget > 0, sourceFailure == nil {
      switch flush(exchange, &budget) {
      case .wait: wantsToWrite = true
      case .end, .failed: machine.writeFailed()
      case .moved:
        guard machine.writing == .body else {
          machine.wroteAll()
          break
        }
        if budget <= 0 { break }
        if fill(exchange, budget: min(budget, Self.pieceBytes)) { continue }
      }
      break
    }
    if budget <= 0 { wantsToWrite = true }
    dropUnwanted(of: exchange)
    updateTimer(of: exchange)
    if let sourceFailure { return exchange.host.conclude(exchange, sourceFailure) }
    if machine.connection != .inUse, machine.reading == .complete {
      // The source may still be open and awaited. A socket that accepts bytes would wake the loop continuously in the
      // meantime.
      wantsToWrite = false
      connection.watch(read: !exchange.receiver.isPaused, write: false)
      return exchange.finish()
    }
    connection.watch(read: !exchange.receiver.isPaused, write: wantsToWrite)
  }

  /// Checks again whether the request may be sent, because the link accepted no bytes when the exchange began.
  private func isAdmitted(_ exchange: Exchange) -> Bool {
    switch connection.admit(exchange.job) {
    case .admitted(let verdict):
      exchange.verdict = verdict
      return true
    case .outdated: exchange.host.restartElsewhere(exchange)
    case .refused(let error): exchange.host.conclude(exchange, error)
    }
    return false
  }

  private func flush(_ exchange: Exchange, _ budget: inout Int) -> LinkStep {
    while written < outgoing.count {
      let step = outgoing.withUnsafeBytes { connection.send(UnsafeRawBufferPointer(rebasing: $0[written...])) }
      guard case .moved(let count) = step else { return step }
      written += count
      recordSent(count, of: exchange, &budget)
      if budget <= 0, hasOutgoing { return .wait }
    }
    outgoing.removeAll(keepingCapacity: true)
    written = 0
    while !part.isEmpty {
      let step = part.withUnsafeBytes { connection.send(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.partBytes))) }
      guard case .moved(let count) = step else { return step }
      part = count == part.count ? Data() : part.dropFirst(count)
      exchange.receiver.tellSent(committedBodyBytes)
      recordSent(count, of: exchange, &budget)
      if budget <= 0, hasOutgoing { return .wait }
    }
    return .moved(0)
  }

  private func recordSent(_ count: Int, of exchange: Exchange, _ budget: inout Int) {
    exchange.sentBytes += Int64(count)
    budget -= count
    exchange.requestSent = true
    hasSent = true
    machine.wroteSome()
    exchange.wasActive()
  }

  /// Queues the next piece of the body; returns false if there is none at the moment, or if none is wanted.
  @discardableResult
  private func fill(_ exchange: Exchange, budget: Int) -> Bool {
    defer { exchange.receiver.tellSent(committedBodyBytes) }
    let job = exchange.job
    do throws(HTTP1Failure) {
      switch job.request.body.source {
      case .empty: return try endBody(of: job)
      case .bytes(let data):
        let piece = exchange.upload.next(of: data, upTo: budget)
        if !piece.isEmpty { try queue(piece, of: exchange) }
        if exchange.upload.offset < data.count { return true }
        return try endBody(of: job)
      case .stream, .file: return try fillFromChannel(exchange, budget)
      }
    } catch {
      sourceFailure = transportError(error, of: exchange)
      return false
    }
  }

  private func fillFromChannel(_ exchange: Exchange, _ budget: Int) throws(HTTP1Failure) -> Bool {
    let job = exchange.job
    let rest = exchange.upload.rest(of: job).map { Int(clamping: $0) } ?? 0
    if rest > 0, let chunk = job.upload?.chunk(from: Self.joinedBytes, upTo: rest) {
      try queue(chunk, of: exchange)
    } else {
      let space = UnsafeMutableRawBufferPointer(rebasing: exchange.engine.context.sendingSpace.prefix(budget))
      switch exchange.upload.read(from: job, into: space) {
      case .bytes(let count): try queue(UnsafeRawBufferPointer(rebasing: space.prefix(count)), of: exchange)
      case .end: return try endBody(of: job)
      case .wait: return false
      case .failed(let error):
        sourceFailure = error
        return false
      }
    }
    sourceFailure = exchange.failureOfSourceAtEnd
    return sourceFailure == nil
  }

  /// Queues bytes of the caller. A large piece of a body without chunk framing is not copied.
  private func queue(_ data: Data, of exchange: Exchange) throws(HTTP1Failure) {
    guard data.count > Self.joinedBytes, exchange.job.request.body.length != nil else {
      return try data.withUnsafeBytes { bytes in
        Result { () throws(HTTP1Failure) in try queue(bytes, of: exchange) }
      }.get()
    }
    guard let piece = try machine.sourceGave(data.count) else { return }
    part = data.prefix(piece.count)
    exchange.upload.offset += piece.count
  }

  private func queue(_ bytes: UnsafeRawBufferPointer, of exchange: Exchange) throws(HTTP1Failure) {
    var rest = bytes[...]
    while !rest.isEmpty, let piece = try machine.sourceGave(rest.count) {
      piece.withPrefix { outgoing.append(contentsOf: $0) }
      outgoing.append(contentsOf: rest.prefix(piece.count))
      if piece.isChunk { outgoing += [0x0D, 0x0A] }
      exchange.upload.offset += piece.count
      rest = rest.dropFirst(piece.count)
    }
  }

  private func endBody(of job: EngineJob) throws(HTTP1Failure) -> Bool {
    guard let end = try machine.sourceEnded(job.upload?.trailers ?? []) else { return false }
    outgoing += end
    return true
  }

  /// Drops queued bytes that the server does not want any more, or that cannot be sent any more.
  private func dropUnwanted(of exchange: Exchange) {
    guard machine.writing == .stopped || machine.writing == .broken else { return }
    outgoing.removeAll(keepingCapacity: true)
    written = 0
    part = Data()
    exchange.upload.isPaused = false
  }
}
