// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

/// The body of a request.
package enum HTTP2RequestBody: Sendable {
  case none
  /// The body is provided with `HTTP2Session.provide(_:on:)`. `length` is its length if that is known.
  case stream(length: Int64?)
}

extension HTTP2Session {
  /// Opens a stream for a request. Its head is sent with the next ``send(into:endsWithFrame:now:)``.
  ///
  /// - Returns: `nil` if ``freeStreams`` is 0.
  package func open(_ head: HTTP2Fields, body: HTTP2RequestBody = .none, now: UInt64) -> HTTP2Stream? {
    guard freeStreams > 0 else { return nil }
    self.now = now
    if liveness.willRequest(now: now) { ping() }
    // All streams together could keep too many unread bytes.
    advertiseWindow(forStreams: streams.count + 1, enlarging: false)
    let slot = streams.reserve()
    var outbox: HTTP2Outbox?
    if case .stream(let length) = body { outbox = HTTP2Outbox(capacity: configuration.outboxBytes, length: length) }
    // The user data of a stream is its slot plus one, so that slot 0 differs from a null pointer.
    let data = UnsafeMutableRawPointer(bitPattern: slot + 1)
    let provider = nghttp2_data_provider(source: nghttp2_data_source(), read_callback: HTTP2Callbacks.readBody)
    let number = head.withPairs(in: &pairs) { pairs in
      withUnsafePointer(to: provider) {
        nghttp2_submit_request(nghttp2, nil, pairs, pairs.count, outbox == nil ? nil : $0, data)
      }
    }
    guard number > 0 else {
      streams.giveBack(slot)
      return nil
    }
    let stream = HTTP2Stream(number: number, slot: slot)
    streams.open(number, outbox, in: slot)
    didOpen(number)
    return stream
  }

  /// Sends the priority of a stream in a PRIORITY_UPDATE frame (RFC 9218 §7.1), unless the server's SETTINGS lack
  /// SETTINGS_NO_RFC7540_PRIORITIES.
  ///
  /// - Parameter value: the value of a `Priority` field.
  package func setPriority(_ value: String, of stream: HTTP2Stream) {
    guard loss == nil, streams.contains(stream), streams[stream].request != .queued else { return }
    var value = value
    value.withUTF8 { _ = nghttp2_submit_priority_update(nghttp2, 0, stream.number, $0.baseAddress, $0.count) }
  }

  /// Returns the progress of the request; `nil` if the stream is not open.
  package func requestPhase(of stream: HTTP2Stream) -> HTTP2RequestPhase? {
    streams.contains(stream) ? streams[stream].request : nil
  }

  /// Returns the number of body bytes that have been sent; `nil` if the stream is not open.
  package func sentBytes(on stream: HTTP2Stream) -> Int64? {
    streams.contains(stream) ? streams[stream].sentBytes : nil
  }

  /// Returns the time at which the request's head, or the latest part of its body, was sent; `nil` if the stream is not
  /// open or the head has not been sent.
  package func lastSent(on stream: HTTP2Stream) -> UInt64? {
    streams.contains(stream) ? streams[stream].sentAt : nil
  }

  /// Returns the number of bytes that ``provide(_:on:)`` can take now.
  package func room(on stream: HTTP2Stream) -> Int {
    streams.contains(stream) ? streams[stream].outbox?.room ?? 0 : 0
  }

  /// Takes as many bytes of the request's body as there is room for. ``HTTP2Event/wantsBody(_:)`` reports when there is
  /// room for more, until ``endBody(_:trailers:)`` is called.
  ///
  /// Bytes beyond the length that was passed to ``open(_:body:now:)`` break the stream. A proxy that translates to
  /// HTTP/1.1 could take the excess for the next request.
  ///
  /// - Returns: the number of bytes taken.
  package func provide(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) -> Int {
    guard streams.contains(stream), streams[stream].outbox != nil, !bytes.isEmpty else { return 0 }
    guard let taken = streams[stream].outbox?.append(bytes) else {
      interrupt(stream, HTTP2Violation(.requestBody, "the request's body has more bytes than its Content-Length"))
      return 0
    }
    resume(stream)
    return taken
  }

  /// Ends the request's body. A body that is shorter than declared breaks the stream.
  package func endBody(_ stream: HTTP2Stream, trailers: HTTP2Fields? = nil) {
    guard streams.contains(stream), let outbox = streams[stream].outbox, !outbox.isEnded else { return }
    guard !outbox.isShort else {
      return interrupt(
        stream, HTTP2Violation(.requestBody, "the request's body has fewer bytes than its Content-Length"))
    }
    streams[stream].outbox?.end(trailers.flatMap { $0.isEmpty ? nil : $0 })
    resume(stream)
  }

  private func resume(_ stream: HTTP2Stream) {
    guard streams[stream].outbox?.isDry == true else { return }
    streams[stream].outbox?.isDry = false
    nghttp2_session_resume_data(nghttp2, stream.number)
  }

  /// Records that the reader took bytes of the response's body, and lets the server send as many again.
  package func consumed(_ count: Int, on stream: HTTP2Stream) {
    guard streams.contains(stream) else { return }
    let count = min(count, streams[stream].unread)
    guard count > 0 else { return }
    streams[stream].unread -= count
    unreadBytes -= count
    guard streams[stream].answer != .whole else { return }
    nghttp2_session_consume_stream(nghttp2, stream.number, count)
  }

  /// Resets a stream. If the request's head has not been sent, it never will be. No further events are reported for the
  /// stream, but ``next()`` still returns the events that were reported before.
  ///
  /// - Parameter code: pass `noError` after a complete response.
  package func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode = .cancel) {
    guard streams.contains(stream) else { return }
    nghttp2_submit_rst_stream(nghttp2, 0, stream.number, code.rawValue)
    forget(stream)
  }

  /// Resets a stream because of a violation by its response or by the request's body.
  func interrupt(_ stream: HTTP2Stream, _ violation: HTTP2Violation) {
    nghttp2_submit_rst_stream(nghttp2, 0, stream.number, violation.code.rawValue)
    close(stream, .broken(violation))
  }

  /// Closes a stream and reports its outcome.
  func close(_ stream: HTTP2Stream, _ closing: HTTP2Ending) {
    guard streams.contains(stream) else { return }
    let ending = closing.outcome(request: streams[stream].request, answer: streams[stream].answer)
    forget(stream)
    tell(.closed(stream, ending))
    if ending == .whole { return floods.responded() }
    // A server sheds load with REFUSED_STREAM (RFC 9113 §8.7).
    guard case .reset = closing, ending != .unprocessed(.refused) else { return }
    if !floods.wasReset(now: now) { retire() }
  }

  private func forget(_ stream: HTTP2Stream) {
    unreadBytes -= streams[stream].unread
    // The rest of the response may still be in flight.
    floods.ended(window: streams[stream].answer == .whole ? 0 : bandwidth.window)
    streams.close(stream)
  }

  // MARK: windows

  /// Enlarges or reduces the windows, if the plan for a number of streams allows or requires that.
  func advertiseWindow(forStreams count: Int, enlarging: Bool) {
    let window = WindowPlan.window(
      estimate: bandwidth.window, streams: count, unread: unreadBytes, limit: configuration.unreadBytes)
    guard enlarging ? window > advertisedWindow : window < advertisedWindow else { return }
    advertisedWindow = window
    floods.sentProvoking()
    var entry = nghttp2_settings_entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window)
    nghttp2_submit_settings(nghttp2, 0, &entry, 1)
  }
}
