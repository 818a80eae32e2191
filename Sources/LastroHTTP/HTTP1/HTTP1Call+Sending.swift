// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The request on its way out.
extension HTTP1Call {
  /// A body in memory that goes out with the head, in one call.
  private static let joinedBytes = 16 * 1024
  private static let pieceBytes = 64 * 1024
  /// The most bytes that are sent from the caller's own memory at once.
  private static let partBytes = 128 * 1024

  /// A small body goes out with the head.
  func joinBody() {
    guard machine.writing == .body, case .bytes(let data) = job.request.body.source, data.count <= Self.joinedBytes
    else { return }
    fill(budget: Self.joinedBytes)
  }

  /// The link takes bytes again.
  func writable() {
    guard let connection, state == .running else { return }
    if isTunnel { return handOver() }
    // Rules may have changed since the exchange began.
    if hasSent || isAdmitted(on: connection) { pump() }
  }

  /// Sends what there is to send, until the peer or the source has to be waited for.
  func pump() {
    guard let connection, state == .running else { return }
    var budget = host.engine.settings.sentBytesPerTurn
    wantsToWrite = false
    while budget > 0, !hasFailed {
      switch flush(&budget) {
      case .wait: wantsToWrite = true
      case .end, .failed: machine.writeFailed()
      case .moved:
        guard machine.writing == .body else {
          machine.wroteAll()
          break
        }
        if budget <= 0 { break }
        if fill(budget: min(budget, Self.pieceBytes)) { continue }
      }
      break
    }
    if budget <= 0 { wantsToWrite = true }
    dropUnwanted()
    noteTimer()
    if let failure { return host.conclude(self, failure) }
    if machine.connection != .inUse, machine.reading == .complete {
      // The source may not have ended, and be waited for: a socket that takes bytes would wake the loop all the while.
      wantsToWrite = false
      connection.watch(read: !receivingPaused, write: false)
      return finish()
    }
    connection.watch(read: !receivingPaused, write: wantsToWrite)
  }

  /// Asks once more whether the request may go out, where the link took nothing when the exchange began.
  private func isAdmitted(on connection: HTTPConnection) -> Bool {
    switch connection.admit(job) {
    case .admitted(let verdict):
      self.verdict = verdict
      return true
    case .outdated: host.restartElsewhere(self)
    case .refused(let error): host.conclude(self, error)
    }
    return false
  }

  private func flush(_ budget: inout Int) -> LinkStep {
    guard let connection else { return .wait }
    while written < outgoing.count {
      let step = outgoing.withUnsafeBytes { connection.send(UnsafeRawBufferPointer(rebasing: $0[written...])) }
      guard case .moved(let count) = step else { return step }
      written += count
      noteSent(count, &budget)
      if budget <= 0, hasOutgoing { return .wait }
    }
    outgoing.removeAll(keepingCapacity: true)
    written = 0
    while !part.isEmpty {
      let step = part.withUnsafeBytes { connection.send(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.partBytes))) }
      guard case .moved(let count) = step else { return step }
      part = count == part.count ? Data() : part.dropFirst(count)
      noteSending()
      noteSent(count, &budget)
      if budget <= 0, hasOutgoing { return .wait }
    }
    return .moved(0)
  }

  private func noteSent(_ count: Int, _ budget: inout Int) {
    sentBytes += Int64(count)
    budget -= count
    requestSent = true
    hasSent = true
    machine.wroteSome()
    lastActivity = clock.now
  }

  /// Queues the next piece of the body. False: there is none at the moment, or none is wanted.
  @discardableResult
  private func fill(budget: Int) -> Bool {
    defer { noteSending() }
    do throws(HTTP1Failure) {
      switch job.request.body.source {
      case .empty: return try endBody()
      case .bytes(let data):
        let count = min(budget, data.count - uploadOffset)
        guard count > 0 else { return try endBody() }
        let start = data.startIndex + uploadOffset
        try queue(data[start..<start + count])
        if uploadOffset == data.count { return try endBody() }
        return true
      case .stream, .file: return try fillFromChannel(budget)
      }
    } catch {
      failure = transportError(error)
      return false
    }
  }

  private func fillFromChannel(_ budget: Int) throws(HTTP1Failure) -> Bool {
    guard let upload = job.upload else { return try endBody() }
    let rest = job.request.body.length.map { Int(clamping: $0 - Int64(uploadOffset)) } ?? 0
    if rest > 0, let chunk = upload.chunk(from: Self.joinedBytes, upTo: rest) {
      try queue(chunk)
      if let error = failureOfSourceAtEnd { failure = error }
      return !hasFailed
    }
    return try host.engine.context.withSendingSpace { space throws(HTTP1Failure) in
      let room = announcedPart(of: UnsafeMutableRawBufferPointer(rebasing: space.prefix(budget)))
      if room.isEmpty { return try endBody() }
      switch upload.read(into: room) {
      case .bytes(let count):
        try queue(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
        if let error = failureOfSourceAtEnd { failure = error }
        return !hasFailed
      case .end: return try endOfSource()
      case .wait:
        sendingPaused = true
        return false
      case .failed(let error):
        failure = error.afterSending
        return false
      }
    }
  }

  /// Queues bytes of the caller's: a large piece that has no chunks around it without a copy.
  private func queue(_ data: Data) throws(HTTP1Failure) {
    guard data.count > Self.joinedBytes, job.request.body.length != nil else {
      return try data.withUnsafeBytes { bytes in
        Result { () throws(HTTP1Failure) in try queue(bytes) }
      }.get()
    }
    guard let piece = try machine.sourceGave(data.count) else { return }
    part = data.prefix(piece.count)
    uploadOffset += piece.count
  }

  private func queue(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    var rest = bytes[...]
    while !rest.isEmpty, let piece = try machine.sourceGave(rest.count) {
      piece.withPrefix { outgoing.append(contentsOf: $0) }
      outgoing.append(contentsOf: rest.prefix(piece.count))
      if piece.isChunk { outgoing += [0x0D, 0x0A] }
      uploadOffset += piece.count
      rest = rest.dropFirst(piece.count)
    }
  }

  private func endBody() throws(HTTP1Failure) -> Bool {
    guard let end = try machine.sourceEnded(job.upload?.trailers ?? []) else { return false }
    outgoing += end
    return true
  }

  /// A source that ends early would leave the server waiting for the announced rest.
  private func endOfSource() throws(HTTP1Failure) -> Bool {
    guard let length = job.request.body.length, Int64(uploadOffset) < length else { return try endBody() }
    failure = .sourceTooShort(Int64(uploadOffset), of: length)
    return false
  }

  /// Forgets what the server does not want any more.
  private func dropUnwanted() {
    guard machine.writing == .stopped || machine.writing == .broken else { return }
    outgoing.removeAll(keepingCapacity: true)
    written = 0
    part = Data()
    sendingPaused = false
  }

  func resumeSendingNow() {
    if isDelivered { return finish() }
    if let error = failureOfSourceAtEnd { return host.conclude(self, error) }
    guard sendingPaused else { return }
    sendingPaused = false
    noteActivity()
    pump()
  }
}
