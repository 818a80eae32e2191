// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP2
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The request's body on its way to the session, which asks for it as the server takes it.
extension HTTP2Call {
  /// Gives the session as much as it has room for.
  func fill() {
    guard let stream, let session = connection?.session, state == .running else { return }
    defer { noteSending() }
    switch job.request.body.source {
    case .empty: break
    case .bytes(let data):
      let count = min(session.room(on: stream), data.count - uploadOffset)
      let start = data.startIndex + uploadOffset
      if count > 0 { provide(data[start..<start + count], stream, session) }
      if uploadOffset == data.count { session.endBody(stream) }
    case .stream, .file: fillFromChannel(stream, session)
    }
    connection?.noteOutput()
  }

  private func provide(_ data: Data, _ stream: HTTP2Stream, _ session: HTTP2Session) {
    data.withUnsafeBytes { uploadOffset += session.provide($0, on: stream) }
    lastActivity = clock.now
  }

  private func fillFromChannel(_ stream: HTTP2Stream, _ session: HTTP2Session) {
    guard let upload = job.upload else { return session.endBody(stream) }
    while session.room(on: stream) > 0, !sendingPaused {
      let supply = host.engine.context.withBodySpace { space in
        let room = announcedPart(of: UnsafeMutableRawBufferPointer(rebasing: space.prefix(session.room(on: stream))))
        if room.isEmpty { return UploadChannel.Supply.end }
        let supply = upload.read(into: room)
        if case .bytes(let count) = supply {
          uploadOffset += session.provide(UnsafeRawBufferPointer(rebasing: room.prefix(count)), on: stream)
          lastActivity = clock.now
        }
        return supply
      }
      switch supply {
      case .bytes:
        if let error = failureOfSourceAtEnd { return host.conclude(self, error) }
      case .end: return endOfSource(stream, session)
      case .wait: sendingPaused = true
      case .failed(let error): return host.conclude(self, error.afterSending)
      }
    }
    // Where the last byte took the last room, the loop has not seen that it was the last.
    if Int64(uploadOffset) == job.request.body.length { session.endBody(stream) }
  }

  /// A source that ends early would leave the server waiting for the announced rest.
  private func endOfSource(_ stream: HTTP2Stream, _ session: HTTP2Session) {
    if let length = job.request.body.length, Int64(uploadOffset) < length {
      return host.conclude(self, .sourceTooShort(Int64(uploadOffset), of: length))
    }
    do throws(TransportError) {
      session.endBody(stream, trailers: try HTTP2Fields(trailers: job.upload?.trailers ?? []))
    } catch {
      host.conclude(self, error.afterSending)
    }
  }

  /// The server wants no more of the body.
  func stopBody() {
    sendingPaused = false
    // One that has given all is still asked whether that was the end.
    if job.request.body.length != Int64(uploadOffset) { job.upload?.stop() }
  }

  func goOnSending() {
    guard sendingPaused else { return }
    sendingPaused = false
    noteActivity()
    fill()
  }
}
