// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

// Called by nghttp2 for received frames.
extension HTTP2Session {
  // MARK: Heads and trailers

  /// Begins to collect the fields of a head or of trailers.
  func blockBegins(_ frame: nghttp2_frame_hd) {
    let used = openStream(frame.stream_id).map { streams[$0].headBytes }
    block.begin(
      on: frame.stream_id, continues: !frame.has(NGHTTP2_FLAG_END_HEADERS),
      room: used.map { max(0, configuration.limits.headBytes - $0) } ?? 0)
  }

  /// Collects a field. Returns false if the head or the trailers exceed their limit; nghttp2 then resets the stream.
  func takesField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    guard isWithinLimit(name.count + value.count) else { return false }
    block.append(name, value)
    return true
  }

  /// Returns whether a field with invalid bytes is left out, which counts towards the limit too. If not, the stream is
  /// reset.
  func leavesOutInvalidField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    if FieldLine.isSpoiltCookie(name, value) { return isWithinLimit(name.count + value.count) }
    guard let stream = openStream(block.stream) else { return false }
    let isPrintable = (1...64).contains(name.count) && name.allSatisfy { (0x21...0x7E).contains($0) }
    let which = isPrintable ? "the field \(String(decoding: name, as: UTF8.self))" : "a field"
    interrupt(stream, HTTP2Violation(.field, "\(which) of the response contains invalid characters"))
    return false
  }

  private func isWithinLimit(_ length: Int) -> Bool {
    if block.count(length) { return true }
    if let stream = openStream(block.stream) {
      let limit = configuration.limits.headBytes.counted("byte")
      interrupt(stream, HTTP2Violation(.headTooLarge, "the response head exceeds \(limit)"))
    }
    return false
  }

  private func blockEnded(_ stream: HTTP2Stream?, _ ends: Bool) {
    defer { block.end() }
    guard let stream else { return }
    streams[stream].headBytes += block.size
    do throws(HTTP2Violation) {
      if streams[stream].answer == .begun { try trailers(stream) } else { try head(stream) }
    } catch {
      return interrupt(stream, error)
    }
    if ends { answerEnded(stream) }
  }

  private func trailers(_ stream: HTTP2Stream) throws(HTTP2Violation) {
    let fields = try HTTP2HeadReader.trailers(block, maximumFields: configuration.limits.fields)
    if !fields.isEmpty { tell(.trailers(stream, fields)) }
  }

  private func head(_ stream: HTTP2Stream) throws(HTTP2Violation) {
    guard let status = HTTP2HeadReader.status(of: block), status >= 100 else {
      throw HTTP2Violation(.field, "the response has no status of three digits")
    }
    let head = try heads.head(block, status: status, maximumFields: configuration.limits.fields)
    guard status >= 200 else { return try interim(head, stream) }
    streams[stream].answer = .begun
    tell(.head(stream, head))
    if status >= 300, streams[stream].outbox != nil, streams[stream].request != .sent {
      streams[stream].outbox = nil
      tell(.stopsBody(stream))
    }
  }

  private func interim(_ head: ResponseHead, _ stream: HTTP2Stream) throws(HTTP2Violation) {
    let limit = configuration.limits.interimResponses
    guard streams[stream].interims.spend(headBytes: streams[stream].headBytes, limit: limit, now: now) else {
      throw HTTP2Violation(.tooManyInterimResponses, InterimBudget.excess(limit))
    }
    streams[stream].headBytes = 0
    streams[stream].answer = .interim
    tell(.interim(stream, head))
  }

  // MARK: Frames

  func received(_ frame: nghttp2_frame) {
    let head = frame.hd, stream = openStream(head.stream_id), ends = head.has(NGHTTP2_FLAG_END_STREAM)
    switch HTTP2FrameType(rawValue: head.type) {
    case .headers: blockEnded(stream, ends)
    case .data: if let stream { dataEnded(stream, head.length - frame.data.padlen, ends) }
    case .resetStream: if let stream { close(stream, .reset(HTTP2ErrorCode(rawValue: frame.rst_stream.error_code))) }
    case .settings:
      guard !head.has(NGHTTP2_FLAG_ACK) else { break }
      hasSettings = true
      tell(.capacity)
    case .ping: if head.has(NGHTTP2_FLAG_ACK) { pong(frame.ping) }
    case .goAway: goingAway(frame.goaway)
    default: break
    }
  }

  func data(_ number: Int32, _ bytes: UnsafeRawBufferPointer) {
    // Return the connection's credit at once, so that a slow reader does not block other streams.
    nghttp2_session_consume_connection(nghttp2, bytes.count)
    guard let stream = openStream(number), let input, let start = bytes.baseAddress else { return }
    streams[stream].unread += bytes.count
    unreadBytes += bytes.count
    streams[stream].emptyData.earn(HTTP2FloodGuard.emptyDataPerData)
    floods.receivedBody(bytes.count)
    guard unreadBytes <= configuration.mostUnreadBytes else { return fail(.violation(.unreadBytes)) }
    let offset = start - input
    tell(.body(stream, offset..<offset + bytes.count))
    if bandwidth.received(bytes.count, now: now) { ping(Self.measuringPayload) }
  }

  /// - Parameter count: the size of the DATA frame that ended, without padding.
  private func dataEnded(_ stream: HTTP2Stream, _ count: Int, _ ends: Bool) {
    // nghttp2 does not report empty frames between heads as an error.
    guard streams[stream].answer == .begun else { return interrupt(stream, .bodyBeforeHead) }
    if ends {
      answerEnded(stream)
    } else if count == 0, !streams[stream].emptyData.spend(1, of: HTTP2FloodGuard.emptyData, now: now) {
      interrupt(stream, .emptyData)
    }
  }

  /// Completes the response. nghttp2 closes the stream itself if the request is complete, too.
  private func answerEnded(_ stream: HTTP2Stream) {
    guard streams.contains(stream), streams[stream].answer == .begun else { return }
    streams[stream].answer = .whole
    guard streams[stream].request != .sent else { return }
    guard streams[stream].outbox == nil else { return tell(.answered(stream)) }
    nghttp2_submit_rst_stream(nghttp2, 0, stream.number, HTTP2ErrorCode.noError.rawValue)
    close(stream, .whole)
  }

  private func pong(_ ping: nghttp2_ping) {
    let payload = withUnsafeBytes(of: ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
    guard payload == Self.measuringPayload, bandwidth.isMeasuring else { return }
    _ = bandwidth.acknowledged(now: now, isRead: unreadBytes < advertisedWindow / 2)
    // Twice as many streams must have room, too.
    advertiseWindow(forStreams: streams.count * 2, enlarging: true)
  }

  private func goingAway(_ frame: nghttp2_goaway) {
    let code = HTTP2ErrorCode(rawValue: frame.error_code)
    goAwayCode = code == .noError ? nil : code
    retire()
    for stream in streams.all where stream.number > frame.last_stream_id { close(stream, .unprocessed(.aboveGoAway)) }
  }

  /// Resets a stream after nghttp2 has rejected a frame other than DATA. The connection may end instead.
  func refused(_ number: Int32, _ reason: String) {
    guard let stream = openStream(number) else { return }
    interrupt(stream, HTTP2Violation(.field, "the response violates HTTP/2: \(reason)"))
  }

  /// Closes a stream after nghttp2 has closed it.
  func closed(_ number: Int32, _ code: UInt32) {
    guard let stream = openStream(number) else { return }
    close(stream, ending(of: stream, HTTP2ErrorCode(rawValue: code)))
  }

  private func ending(of stream: HTTP2Stream, _ code: HTTP2ErrorCode) -> HTTP2Ending {
    switch (streams[stream].request, code) {
    // The head was not sent because the server went away first.
    case (.queued, _): .unprocessed(.unsent)
    // nghttp2 resets the stream for these without reporting the reason.
    case (_, .flowControlError):
      .broken(HTTP2Violation(.flowControl, "the server sent more than the stream's window allows"))
    case (_, .protocolError) where streams[stream].answer != .begun: .broken(.bodyBeforeHead)
    case (_, .protocolError):
      .broken(HTTP2Violation(.contentLength, "the response's body is longer or shorter than its Content-Length"))
    default: .broken(HTTP2Violation(.field, "the response violates HTTP/2: \(code)"))
    }
  }
}

extension HTTP2Violation {
  fileprivate static let unreadBytes = Self(
    .unreadBytes, "the server keeps sending beyond the smaller windows it was given")
  fileprivate static let emptyData = Self(
    .emptyData,
    "the server sent more than \(HTTP2FloodGuard.emptyData.burst) empty DATA frames without data between them")
  fileprivate static let bodyBeforeHead = Self(.order, "the response's body, or its end, comes before its head")
}
