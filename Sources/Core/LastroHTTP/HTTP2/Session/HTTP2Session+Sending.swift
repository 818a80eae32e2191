// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

extension HTTP2Session {
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
      let room = inRecords ? min(left, HTTP2Output.recordBytes - count % HTTP2Output.recordBytes) : left
      guard room >= Self.leastRoom else { return count }
      let rest = UnsafeMutableRawBufferPointer(rebasing: space[count..<count + room])
      let more = send(into: rest, endsWithFrame: inRecords, now: now)
      if !perform(), more == 0 { return count }
      count += more
    }
  }

  // MARK: Called by nghttp2

  /// Records that a frame is part of the output.
  func sent(_ frame: nghttp2_frame) {
    let head = frame.hd, ends = head.has(NGHTTP2_FLAG_END_STREAM)
    switch HTTP2FrameType(rawValue: head.type) {
    case .headers: sentHead(head.stream_id, ends)
    case .data: sentData(head.stream_id, head.length, ends)
    case .goAway: sentGoingAway(frame.goaway)
    default: break
    }
  }

  /// Records that the head or the trailers of a request were sent.
  private func sentHead(_ number: Int32, _ ends: Bool) {
    guard let stream = openStream(number) else { return }
    streams[stream].request = ends ? .sent : .sending
    streams[stream].sentAt = now
  }

  /// Records that nghttp2 did not send a request's head or its trailers.
  func notSent(_ number: Int32, _ reason: String) {
    guard let stream = openStream(number) else { return }
    let isHead = streams[stream].request == .queued
    let violation = HTTP2Violation(
      .requestFields, "the request's \(isHead ? "head" : "trailers") cannot be sent: \(reason)")
    // Without a head, the server does not know the stream, and would treat a reset as a connection error.
    if isHead { close(stream, .broken(violation)) } else { interrupt(stream, violation) }
  }

  private func sentData(_ number: Int32, _ count: Int, _ ends: Bool) {
    floods.sentData(count)
    guard let stream = openStream(number) else { return }
    streams[stream].sentBytes += Int64(count)
    streams[stream].interims.sent(count)
    streams[stream].sentAt = now
    if ends { streams[stream].request = .sent }
  }

  /// Records that nghttp2 terminates the connection. Unless the session has already failed, nghttp2 does so for a
  /// reason of its own.
  private func sentGoingAway(_ frame: nghttp2_goaway) {
    guard loss == nil else { return }
    let code = HTTP2ErrorCode(rawValue: frame.error_code)
    if code == .compressionError, streamWithinHead != nil, block.continues {
      return fail(.violation(.fieldTooLarge))
    }
    let text = UnsafeMutableBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len)
    let reason = String(decoding: text, as: UTF8.self)
    fail(
      .violation(
        HTTP2Violation(.connection, "the server violated HTTP/2: \(reason.isEmpty ? "" : "\(reason), ")\(code)")))
  }

  /// Returns the size of the next piece of a body, of at most `most` bytes, or one of nghttp2's codes if there is none
  /// at the moment.
  ///
  /// - Parameter flags: receives whether the piece is the last one, and whether trailers follow it.
  func nextPiece(_ number: Int32, _ most: Int, _ flags: inout UInt32) -> Int {
    guard let most = output.roomForPiece(most) else { return Int(NGHTTP2_ERR_PAUSE.rawValue) }
    let wait = Int(NGHTTP2_ERR_DEFERRED.rawValue)
    guard let stream = openStream(number), let outbox = streams[stream].outbox else { return wait }
    guard outbox.count > 0 || outbox.isEnded else {
      streams[stream].outbox?.isDry = true
      askForMore(stream)
      return wait
    }
    let count = min(outbox.count, most)
    flags |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    guard outbox.isEnded, count == outbox.count else { return count }
    flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
    if let trailers = outbox.trailers,
      trailers.withPairs(in: &pairs, { nghttp2_submit_trailer(nghttp2, number, $0, $0.count) }) == 0
    {
      flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
    }
    return count
  }

  /// Writes the piece of a body that was chosen last.
  ///
  /// - Parameter head: the head of its DATA frame.
  func sendPiece(_ number: Int32, _ head: UnsafePointer<UInt8>, _ count: Int) {
    let space = output.beginPiece(head, count)
    guard count > 0, let stream = openStream(number) else { return }
    streams[stream].outbox?.moveBytes(to: space)
    askForMore(stream)
  }

  private func askForMore(_ stream: HTTP2Stream) {
    guard let outbox = streams[stream].outbox, !outbox.isEnded, !outbox.hasAsked,
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
