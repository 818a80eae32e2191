// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

/// What of a request comes behind its head.
package enum HTTP2RequestBody: Sendable {
  case none
  /// `HTTP2Session.provide(_:on:)` gives it; with its length, where that is known.
  case stream(length: Int64?)
}

extension HTTP2Session {
  /// Opens a stream for a request, whose head goes out with the next ``send(into:endsWithFrame:now:)``.
  ///
  /// - Returns: `nil` where ``freeStreams`` is 0.
  package func open(_ head: HTTP2Fields, body: HTTP2RequestBody = .none, now: UInt64) -> HTTP2Stream? {
    guard freeStreams > 0 else { return nil }
    self.now = now
    willOpen()
    advertiseLess()
    let slot = streams.reserve()
    var outbox: HTTP2Outbox?
    if case .stream(let length) = body { outbox = HTTP2Outbox(capacity: configuration.outboxBytes, length: length) }
    let number = withDoor(
      { (door) -> Int32 in
        head.withDoor { bytes, fields, count in
          guard let bytes, let fields else { return Int32(-1) }
          return clastro_http2_request(door, UInt(slot), bytes, fields, count, outbox != nil)
        }
      }, or: -1)
    guard number > 0 else {
      streams.giveBack(slot)
      return nil
    }
    let stream = HTTP2Stream(number: number, slot: slot)
    streams.open(number, outbox, in: slot)
    didOpen(number)
    return stream
  }

  /// Whether the stream is open. What is said of one that is not changes nothing.
  package func isOpen(_ stream: HTTP2Stream) -> Bool { streams.contains(stream) }

  /// How far the request has come; `nil` for a stream that is not open.
  package func requestPhase(of stream: HTTP2Stream) -> HTTP2RequestPhase? {
    streams.contains(stream) ? streams[stream].request : nil
  }

  /// Bytes of the request's body that have gone out; `nil` for a stream that is not open.
  package func sentBytes(on stream: HTTP2Stream) -> Int64? {
    streams.contains(stream) ? streams[stream].sentBytes : nil
  }

  /// The time at which the request's head, or the latest piece of its body, went out; `nil` for a stream that is not
  /// open, and before.
  package func lastSent(on stream: HTTP2Stream) -> UInt64? {
    streams.contains(stream) ? streams[stream].sentAt : nil
  }

  /// How many bytes ``provide(_:on:)`` would take.
  package func room(on stream: HTTP2Stream) -> Int {
    guard streams.contains(stream), !streams[stream].isStopped else { return 0 }
    return streams[stream].outbox?.room ?? 0
  }

  /// Takes bytes of the request's body, as many as there is room for; ``HTTP2Event/wantsBody(_:)`` tells when there
  /// is more.
  ///
  /// Bytes beyond the length that ``open(_:body:now:)`` was told break the stream: one part of them would be taken
  /// for the next request where HTTP/2 ends at a proxy.
  ///
  /// - Returns: how many were taken.
  package func provide(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) -> Int {
    guard streams.contains(stream), !streams[stream].isStopped, streams[stream].outbox != nil, !bytes.isEmpty else {
      return 0
    }
    guard let taken = streams[stream].outbox?.append(bytes) else {
      interrupt(stream, HTTP2Violation(.requestBody, "the request's body has more bytes than its Content-Length"))
      return 0
    }
    resume(stream)
    return taken
  }

  /// Ends the request's body. One that is shorter than was said breaks the stream.
  package func endBody(_ stream: HTTP2Stream, trailers: HTTP2Fields? = nil) {
    guard streams.contains(stream), !streams[stream].isStopped, let outbox = streams[stream].outbox, !outbox.isEnded
    else { return }
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
    withDoor { clastro_http2_resume($0, stream.number) }
  }

  /// The reader took bytes of the answer's body: the server may send as many again.
  package func consumed(_ count: Int, on stream: HTTP2Stream) {
    guard streams.contains(stream) else { return }
    let count = min(count, streams[stream].unread)
    guard count > 0 else { return }
    streams[stream].unread -= count
    unreadBytes -= count
    guard streams[stream].answer != .whole else { return }
    withDoor { clastro_http2_consume_stream($0, stream.number, count) }
  }

  /// Ends a stream. A request whose head has not gone out never will. Nothing more is told of it, not even what had
  /// come already.
  ///
  /// - Parameter code: `noError` behind a whole answer.
  package func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode = .cancel) {
    untell(stream)
    guard streams.contains(stream) else { return }
    withDoor { clastro_http2_reset($0, stream.number, code.rawValue) }
    forget(stream)
  }

  /// Resets a stream for what its answer, or its body, breaks.
  func interrupt(_ stream: HTTP2Stream, _ violation: HTTP2Violation) {
    withDoor { clastro_http2_reset($0, stream.number, violation.code.rawValue) }
    finish(stream, .broken(violation))
  }

  /// Tells the end of a stream.
  func finish(_ stream: HTTP2Stream, _ closing: HTTP2Closing) {
    guard streams.contains(stream) else { return }
    let ending = HTTP2Ending(closing, request: streams[stream].request, answer: streams[stream].answer)
    forget(stream)
    tell(.closed(stream, ending))
    if ending == .whole { return floods.responded() }
    // A server sheds load with REFUSED_STREAM (RFC 9113 §8.7).
    guard case .reset = closing, ending != .unprocessed(.refused) else { return }
    if !floods.wasReset(now: now) { becomeUnhealthy() }
  }

  private func forget(_ stream: HTTP2Stream) {
    unreadBytes -= streams[stream].unread
    // The rest of the response may be under way.
    floods.ended(window: streams[stream].answer == .whole ? 0 : bandwidth.window)
    streams.close(stream)
  }

  // MARK: windows

  /// Before one more stream: makes the windows smaller where all together could keep too much.
  private func advertiseLess() {
    let window = WindowPlan.window(
      estimate: bandwidth.window, streams: streams.count + 1, unread: unreadBytes, limit: configuration.unreadBytes)
    if window < advertisedWindow { advertise(window) }
  }

  /// After a measurement: makes them larger, where twice as many streams would have room too.
  func advertiseMore() {
    let window = WindowPlan.window(
      estimate: bandwidth.window, streams: streams.count * 2, unread: unreadBytes, limit: configuration.unreadBytes)
    if window > advertisedWindow { advertise(window) }
  }

  private func advertise(_ window: Int) {
    advertisedWindow = window
    floods.sentProvoking()
    withDoor { clastro_http2_set_stream_window($0, UInt32(clamping: window)) }
  }
}
