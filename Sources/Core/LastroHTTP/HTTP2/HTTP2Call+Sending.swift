// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// The request's body on its way to the session, which asks for it as the server takes it.
extension HTTP2Call {
  /// Gives the session as much as it has room for.
  func fill() {
    guard let stream, exchange.isRunning else { return }
    let session = multiplexer.session
    defer { exchange.receiver.tellSent(handedOver) }
    switch exchange.job.request.body.source {
    case .empty: break
    case .bytes(let data):
      let count = min(session.room(on: stream), data.count - exchange.uploadOffset)
      let start = data.startIndex + exchange.uploadOffset
      if count > 0 { provide(data[start..<start + count], stream, session) }
      if exchange.uploadOffset == data.count { session.endBody(stream) }
    case .stream, .file: fillFromChannel(stream, session)
    }
    multiplexer.noteOutput()
  }

  private func provide(_ data: Data, _ stream: HTTP2Stream, _ session: HTTP2Session) {
    data.withUnsafeBytes { exchange.uploadOffset += session.provide($0, on: stream) }
    exchange.wasActive()
  }

  private func fillFromChannel(_ stream: HTTP2Stream, _ session: HTTP2Session) {
    guard let upload = exchange.job.upload else { return session.endBody(stream) }
    while session.room(on: stream) > 0, !exchange.sendingPaused {
      let supply = exchange.engine.context.withBodySpace { space in
        let room = exchange.announcedPart(
          of: UnsafeMutableRawBufferPointer(rebasing: space.prefix(session.room(on: stream))))
        if room.isEmpty { return UploadChannel.Supply.end }
        let supply = upload.read(into: room)
        if case .bytes(let count) = supply {
          exchange.uploadOffset += session.provide(UnsafeRawBufferPointer(rebasing: room.prefix(count)), on: stream)
          exchange.wasActive()
        }
        return supply
      }
      switch supply {
      case .bytes:
        if let error = exchange.failureOfSourceAtEnd { return exchange.host.conclude(exchange, error) }
      case .end: return endOfSource(stream, session)
      case .wait: exchange.sendingPaused = true
      case .failed(let error): return exchange.host.conclude(exchange, error.afterSending)
      }
    }
    // Where the last byte took the last room, the loop has not seen that it was the last.
    if Int64(exchange.uploadOffset) == exchange.job.request.body.length { session.endBody(stream) }
  }

  /// A source that ends early would leave the server waiting for the announced rest.
  private func endOfSource(_ stream: HTTP2Stream, _ session: HTTP2Session) {
    if let length = exchange.job.request.body.length, Int64(exchange.uploadOffset) < length {
      return exchange.host.conclude(exchange, .sourceTooShort(Int64(exchange.uploadOffset), of: length))
    }
    do throws(TransportError) {
      session.endBody(stream, trailers: try HTTP2Fields(trailers: exchange.job.upload?.trailers ?? []))
    } catch {
      exchange.host.conclude(exchange, error.afterSending)
    }
  }

  /// The server wants no more of the body.
  func stopBody() {
    exchange.sendingPaused = false
    // One that has given all is still asked whether that was the end.
    if exchange.job.request.body.length != Int64(exchange.uploadOffset) { exchange.job.upload?.stop() }
  }

  func resumeSending() { fill() }
}
