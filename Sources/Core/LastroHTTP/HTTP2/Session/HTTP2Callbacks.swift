// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// The functions that nghttp2 calls. Their context is the session, which outlives nghttp2's own.
enum HTTP2Callbacks {
  /// The functions, which nghttp2 copies for each session; `nil` if there is no memory.
  // Unchecked because nothing changes the object once it is made.
  nonisolated(unsafe) static let shared: OpaquePointer? = {
    var made: OpaquePointer?
    guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else { return nil }
    setReceiving(callbacks)
    setSending(callbacks)
    return callbacks
  }()

  /// Chooses the next piece of a body, and returns its size.
  static let readBody: nghttp2_data_source_read_callback = { _, number, _, most, flags, _, context in
    guard let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    return with(context) { $0.nextPiece(number, most, &flags.pointee) } ?? 0
  }

  private static func setReceiving(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      tell(context) { if let frame { $0.blockBegins(frame.pointee.hd) } }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameLength, value, valueLength, _, context in
      give(context) {
        $0.takesField(
          UnsafeRawBufferPointer(start: name, count: nameLength),
          UnsafeRawBufferPointer(start: value, count: valueLength))
      }
    }
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
      _, _, name, nameLength, value, valueLength, _, context in
      give(context) {
        $0.leavesOutInvalidField(
          UnsafeRawBufferPointer(start: name, count: nameLength),
          UnsafeRawBufferPointer(start: value, count: valueLength))
      }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, number, bytes, count, context in
      receive(context) { $0.data(number, UnsafeRawBufferPointer(start: bytes, count: count)) }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      receive(context) { if let frame { $0.received(frame.pointee) } }
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, context in
      // Later versions of nghttp2 call this for DATA too, for which the end of the body is sufficient.
      guard let head = frame?.pointee.hd, head.type != HTTP2FrameType.data.rawValue else { return 0 }
      return tell(context) { $0.refused(head.stream_id, String(cString: nghttp2_strerror(code))) }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, number, code, context in
      tell(context) { $0.closed(number, code) }
    }
  }

  private static func setSending(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      tell(context) { if let frame { $0.sent(frame.pointee) } }
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, code, context in
      // A head that is not sent because the server is going away needs no report: its stream is closed.
      guard let head = frame?.pointee.hd, head.type == HTTP2FrameType.headers.rawValue,
        code != NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue
      else { return 0 }
      return tell(context) { $0.notSent(head.stream_id, String(cString: nghttp2_strerror(code))) }
    }
    nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, frame, head, count, _, context in
      tell(context) { if let frame, let head { $0.sendPiece(frame.pointee.hd.stream_id, head, count) } }
    }
  }
}

/// Calls `body` with the session that is the context.
private func with<Result>(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Result) -> Result? {
  guard let context else { return nil }
  return Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
}

/// Reports an event, after which nghttp2 continues.
private func tell(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Void) -> Int32 {
  _ = with(context, body)
  return 0
}

/// Reports received bytes or a received frame. nghttp2 stops reading once the connection has ended.
private func receive(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Void) -> Int32 {
  let isOpen = with(context) { session -> Bool in
    body(session)
    return session.loss == nil
  }
  return isOpen == true ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
}

/// Reports a field. nghttp2 resets the stream if `body` returns false.
private func give(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Bool) -> Int32 {
  with(context, body) == true ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

extension nghttp2_frame_hd {
  func has(_ flag: nghttp2_flag) -> Bool { UInt32(flags) & flag.rawValue != 0 }
}
