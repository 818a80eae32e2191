// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

extension HTTP2Session {
  /// The maximum plaintext size of a TLS record.
  private static let recordBytes = Int(CLASTRO_HTTP2_RECORD_BYTES)
  /// The smallest space for which a call is worthwhile.
  private static let leastRoom = 1_024

  /// Fills a buffer with output until it is full or no output is left.
  ///
  /// TLS splits a write into records of 16,384 bytes. Some servers, such as Tomcat 10.1, misread a frame that spans two
  /// records. With `inRecords`, no frame crosses a multiple of 16,384 bytes from the beginning: DATA frames and header
  /// frames have at most 16,375 bytes of payload, and the write ends early if a frame does not fit into the rest of a
  /// record.
  ///
  /// - Parameters:
  ///   - inRecords: whether the bytes are written to TLS, in one write.
  ///   - now: the current time.
  ///   - perform: handles the events after each call of ``send(into:endsWithFrame:now:)``. Returns whether there may be
  ///     output even if the call produced none.
  /// - Returns: the number of bytes written into the buffer.
  package func fill(
    _ space: UnsafeMutableRawBufferPointer, inRecords: Bool, now: UInt64, _ perform: () -> Bool
  ) -> Int {
    var count = 0
    while true {
      let left = space.count - count
      let room = inRecords ? min(left, Self.recordBytes - count % Self.recordBytes) : left
      guard room >= Self.leastRoom else { return count }
      let rest = UnsafeMutableRawBufferPointer(rebasing: space[count..<count + room])
      let more = send(into: rest, endsWithFrame: inRecords, now: now)
      if !perform(), more == 0 { return count }
      count += more
    }
  }

  // MARK: Called by the door

  /// Records that the head or the trailers of a request were sent.
  func sentHead(_ number: Int32, _ slot: UInt, _ ends: Bool) {
    guard let stream = streams.stream(number, slot) else { return }
    streams[stream].request = ends ? .sent : .sending
    streams[stream].sentAt = now
  }

  /// Records that nghttp2 did not send a request's head or its trailers.
  func notSent(_ number: Int32, _ slot: UInt, _ reason: String) {
    guard let stream = streams.stream(number, slot) else { return }
    let isHead = streams[stream].request == .queued
    let violation = HTTP2Violation(
      .requestFields, "the request's \(isHead ? "head" : "trailers") cannot be sent: \(reason)")
    // Without a head, the server does not know the stream, and would treat a reset as a connection error.
    if isHead { finish(stream, .broken(violation)) } else { interrupt(stream, violation) }
  }

  func sentData(_ number: Int32, _ slot: UInt, _ count: Int, _ ends: Bool) {
    floods.sentData(count)
    guard let stream = streams.stream(number, slot) else { return }
    streams[stream].sentBytes += Int64(count)
    streams[stream].interims.sent(count)
    streams[stream].sentAt = now
    if ends { streams[stream].request = .sent }
  }

  /// Records that nghttp2 terminates the connection. Unless the session has already failed, nghttp2 does so for a
  /// reason of its own.
  func sentGoingAway(_ code: UInt32, _ reason: String) {
    guard loss == nil else { return }
    let code = HTTP2ErrorCode(rawValue: code)
    if code == .compressionError, streamWithinHead != nil, clastro_http2_head_continues(door) {
      return fail(.violation(.fieldTooLarge))
    }
    fail(
      .violation(
        HTTP2Violation(.connection, "the server violated HTTP/2: \(reason.isEmpty ? "" : "\(reason), ")\(code)")))
  }

  func piece(_ number: Int32, _ slot: UInt, _ room: Int) -> clastro_http2_piece {
    var piece = clastro_http2_piece(count: 0, is_dry: true, is_last: false, has_trailers: false)
    guard let stream = streams.stream(number, slot), !streams[stream].isStopped, let outbox = streams[stream].outbox
    else { return piece }
    guard outbox.count > 0 || outbox.isEnded else {
      streams[stream].outbox?.isDry = true
      askForMore(stream)
      return piece
    }
    piece.is_dry = false
    piece.count = min(outbox.count, room)
    piece.is_last = outbox.isEnded && piece.count == outbox.count
    if piece.is_last, let trailers = outbox.trailers {
      piece.has_trailers = trailers.withDoor { bytes, fields, count in
        clastro_http2_trailers(door, number, bytes, fields, count)
      }
    }
    return piece
  }

  func take(_ number: Int32, _ slot: UInt, _ space: UnsafeMutableRawBufferPointer) {
    guard let stream = streams.stream(number, slot) else { return }
    streams[stream].outbox?.take(to: space)
    askForMore(stream)
  }

  private func askForMore(_ stream: HTTP2Stream) {
    guard let outbox = streams[stream].outbox, !outbox.isEnded, !outbox.hasAsked, !outbox.isComplete,
      outbox.count <= configuration.outboxBytes / 2
    else { return }
    streams[stream].outbox?.hasAsked = true
    tell(.wantsBody(stream))
  }
}

extension HTTP2Violation {
  /// nghttp2 reports this limit with the same code as invalid HPACK. A head in a single frame has no field that large.
  fileprivate static let fieldTooLarge = Self(
    .fieldTooLarge, "a field of the response exceeds the HTTP/2 maximum of 65536 bytes, or is not valid HPACK")
}
