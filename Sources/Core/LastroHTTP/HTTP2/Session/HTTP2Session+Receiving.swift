// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

// Callbacks of the C layer for received frames.
extension HTTP2Session {
  /// Returns the number of bytes that heads and trailers of the response may still use.
  func blockLimit(_ number: Int32, _ slot: UInt) -> Int {
    guard let stream = streams.stream(number, slot) else { return 0 }
    return max(0, configuration.limits.headBytes - streams[stream].headBytes)
  }

  func blockTooLarge(_ number: Int32, _ slot: UInt) {
    guard let stream = streams.stream(number, slot) else { return }
    interrupt(
      stream,
      HTTP2Violation(.headTooLarge, "the response head exceeds \(configuration.limits.headBytes.counted("byte"))"))
  }

  /// Returns whether a field with invalid bytes is to be dropped. If not, the stream is reset.
  func leavesOutInvalidField(
    _ number: Int32, _ slot: UInt, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    if FieldLine.isSpoiltCookie(name, value) { return true }
    guard let stream = streams.stream(number, slot) else { return false }
    let isPrintable = (1...64).contains(name.count) && name.allSatisfy { (0x21...0x7E).contains($0) }
    let which = isPrintable ? "the field \(String(decoding: name, as: UTF8.self))" : "a field"
    interrupt(stream, HTTP2Violation(.field, "\(which) of the response contains invalid characters"))
    return false
  }

  func block(_ block: clastro_http2_block) {
    guard let stream = streams.stream(block.stream, block.slot) else { return }
    streams[stream].headBytes += block.byte_count + 32 * block.count
    do throws(HTTP2Violation) {
      if streams[stream].answer == .begun { try trailers(block, stream) } else { try head(block, stream) }
    } catch {
      return interrupt(stream, error)
    }
    if block.ends { answerEnded(stream) }
  }

  private func trailers(_ block: clastro_http2_block, _ stream: HTTP2Stream) throws(HTTP2Violation) {
    let fields = try HTTP2HeadReader.trailers(block, maximumFields: configuration.limits.fields)
    if !fields.isEmpty { tell(.trailers(stream, fields)) }
  }

  private func head(_ block: clastro_http2_block, _ stream: HTTP2Stream) throws(HTTP2Violation) {
    guard let status = HTTP2HeadReader.status(of: block), status >= 100 else {
      throw HTTP2Violation(.field, "the response has no status of three digits")
    }
    let head = try heads.head(block, status: status, maximumFields: configuration.limits.fields)
    guard status >= 200 else { return try interim(head, stream) }
    streams[stream].answer = .begun
    tell(.head(stream, head))
    if status >= 300, streams[stream].outbox != nil, streams[stream].request != .sent {
      streams[stream].isStopped = true
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

  func data(_ number: Int32, _ slot: UInt, _ bytes: UnsafeRawBufferPointer) {
    // Return the connection's credit at once, so that a slow reader does not block other streams.
    clastro_http2_consume_connection(door, bytes.count)
    guard let stream = streams.stream(number, slot), let input, let start = bytes.baseAddress else { return }
    streams[stream].unread += bytes.count
    unreadBytes += bytes.count
    streams[stream].emptyData.earn(HTTP2FloodGuard.emptyDataPerData)
    floods.receivedBody(bytes.count)
    guard unreadBytes <= mostUnreadBytes else {
      return fail(.violation(.unreadBytes))
    }
    let offset = start - input
    tell(.body(stream, offset..<offset + bytes.count))
    if bandwidth.received(bytes.count, now: now) { measuringPing = ping() }
  }

  func dataEnd(_ number: Int32, _ slot: UInt, _ count: Int, _ ends: Bool) {
    guard let stream = streams.stream(number, slot) else { return }
    // nghttp2 does not report empty frames between heads as an error.
    guard streams[stream].answer == .begun else {
      return interrupt(stream, .bodyBeforeHead)
    }
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
    guard streams[stream].isStopped else { return tell(.answered(stream)) }
    clastro_http2_reset(door, stream.number, HTTP2ErrorCode.noError.rawValue)
    finish(stream, .done)
  }

  func wasReset(_ number: Int32, _ slot: UInt, _ code: UInt32) {
    guard let stream = streams.stream(number, slot) else { return }
    finish(stream, .reset(HTTP2ErrorCode(rawValue: code)))
  }

  func pong(_ payload: UInt64) {
    guard payload == measuringPing, bandwidth.isMeasuring else { return }
    _ = bandwidth.acknowledged(now: now, isRead: unreadBytes < advertisedWindow / 2)
    advertiseMore()
  }

  func goingAway(_ lastStream: Int32, _ code: UInt32, _ text: String) {
    let notice = HTTP2GoAway(lastStream: lastStream, code: HTTP2ErrorCode(rawValue: code), text: text)
    goAway = notice
    tell(.goingAway(notice))
    for stream in streams.all where stream.number > lastStream { finish(stream, .goAway) }
  }

  func refused(_ number: Int32, _ slot: UInt, _ reason: String) {
    guard let stream = streams.stream(number, slot) else { return }
    interrupt(stream, HTTP2Violation(.field, "the response violates HTTP/2: \(reason)"))
  }

  /// Closes a stream after nghttp2 has closed it.
  func closed(_ number: Int32, _ slot: UInt, _ code: UInt32) {
    guard let stream = streams.stream(number, slot) else { return }
    finish(stream, closing(of: stream, HTTP2ErrorCode(rawValue: code)))
  }

  private func closing(of stream: HTTP2Stream, _ code: HTTP2ErrorCode) -> HTTP2Closing {
    switch (streams[stream].answer, streams[stream].request, code) {
    case (.whole, _, _): .done
    // The head was not sent because the server went away first.
    case (_, .queued, _): .goAway
    // nghttp2 resets the stream for these without reporting the reason.
    case (_, _, .flowControlError):
      .broken(HTTP2Violation(.flowControl, "the server sent more than the stream's window allows"))
    case (.waiting, _, .protocolError), (.interim, _, .protocolError):
      .broken(.bodyBeforeHead)
    case (.begun, _, .protocolError):
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
