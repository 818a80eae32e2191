// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

/// The client's side of one HTTP/2 connection, without I/O: it takes bytes and times, and produces bytes and events.
///
/// The session enforces RFC 9113 and the configuration: the number of streams, the amount of data sent and received,
/// the outcome of each exchange, the liveness check, and the defence against a hostile server. libnghttp2 handles
/// framing, HPACK and stream states. The owner uses a session on one thread or behind one lock:
///
/// 1. It creates the session once the connection has negotiated `h2`, and writes the output of
///    ``send(into:endsWithFrame:now:)`` until there is none.
/// 2. It passes received bytes to ``receive(_:now:)``, and calls ``next()`` until it returns `nil` *before it reuses
///    the input buffer*: body events are ranges of that buffer.
/// 3. It opens a stream for each request while ``freeStreams`` is above 0, provides the body when
///    ``HTTP2Event/wantsBody(_:)`` is reported, calls ``consumed(_:on:)`` for body bytes that the reader took, and
///    calls ``reset(_:_:)`` for a stream that it no longer wants.
/// 4. It calls ``tick(now:output:)`` at ``deadline``.
/// 5. After each call, it alternates ``next()`` and ``send(into:endsWithFrame:now:)`` until both return nothing,
///    because each may cause more of the other.
/// 6. It closes the connection when ``wantsClose`` is `true`, and calls ``connectionEnded()`` when the server closed
///    it.
///
///     let session = try HTTP2Session(HTTP2Configuration(), now: now)
///     let stream = session.open(head, now: now)          // `nil`: wait, or take another connection
///     let count = session.send(into: space, now: now)    // write space[..<count]
///     session.receive(input, now: now)
///     while let event = session.next() { … }
///
/// Each stream ends with one ``HTTP2Event/closed(_:_:)``, unless its owner reset it. The ``HTTP2Ending`` of that event
/// shows whether the request may be retried. The session has no callbacks, and sends nothing twice. It does not buffer
/// received bodies: if a reader takes nothing, the owner holds at most one window of bytes
/// (``HTTP2Configuration/streamWindow``, which grows for readers that keep up).
package final class HTTP2Session {
  /// The stream number from which on the connection takes no new requests.
  package static let lastNumber: Int32 = 1 << 30

  let configuration: HTTP2Configuration
  /// The C layer's session.
  let door: OpaquePointer
  private var events: ContiguousArray<HTTP2Event> = []
  private var nextEvent = 0

  let streams = HTTP2StreamTable()
  var heads = HTTP2HeadReader()
  var floods: HTTP2FloodGuard
  var bandwidth: BandwidthEstimate
  private var liveness: HTTP2Liveness
  var now: UInt64
  /// The start of the input that is being received.
  var input: UnsafeRawPointer?
  /// The stream window that was advertised to the server.
  var advertisedWindow: Int
  /// The number of bytes that readers have not taken, over all streams.
  package internal(set) var unreadBytes = 0
  let mostUnreadBytes: Int
  private var pings: UInt64 = 0
  var measuringPing: UInt64 = 0
  // Unchecked, like the properties below: the session has one owner, and setting these properties calls no other code.
  @exclusivity(unchecked) private var isRetired = false
  private var isBrokenOff = false

  /// The reason why the connection ended; `nil` while it is open.
  @exclusivity(unchecked) package private(set) var loss: HTTP2Loss?
  /// The latest GOAWAY that was received.
  @exclusivity(unchecked) package internal(set) var goAway: HTTP2GoAway?
  /// Whether the connection gets no new requests because the server did not answer a PING, or because it resets almost
  /// every stream.
  @exclusivity(unchecked) package private(set) var isUnhealthy = false

  /// - Throws: ``HTTP2Violation`` of kind `memory`.
  package init(_ configuration: HTTP2Configuration, now: UInt64) throws(HTTP2Violation) {
    self.configuration = configuration
    mostUnreadBytes = configuration.mostUnreadBytes
    self.now = now
    advertisedWindow = configuration.streamWindow
    bandwidth = BandwidthEstimate(
      window: configuration.streamWindow, maximumWindow: configuration.maximumStreamWindow)
    liveness = HTTP2Liveness(configuration.liveness, now: now)
    floods = HTTP2FloodGuard(maximumHeadBytes: configuration.limits.headBytes)
    var settings = clastro_http2_settings(
      stream_window: UInt32(clamping: configuration.streamWindow),
      connection_window: UInt32(clamping: configuration.connectionWindow),
      maximum_head_bytes: UInt32(clamping: configuration.limits.headBytes),
      maximum_streams_before_settings: UInt32(
        clamping: min(configuration.streams, configuration.streamsBeforeSettings)),
      maximum_sent_head_bytes: HTTP2Fields.maximumBytes)
    var table = HTTP2Door.events
    guard let door = clastro_http2_new(&settings, &table) else {
      throw HTTP2Violation(.memory, "out of memory for an HTTP/2 session")
    }
    self.door = door
    clastro_http2_set_context(door, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { clastro_http2_free(door) }

  // MARK: events

  /// Returns the next event; `nil` if there is none.
  package func next() -> HTTP2Event? {
    guard nextEvent < events.count else {
      if nextEvent > 0 {
        events.removeAll(keepingCapacity: events.capacity <= 256)
        nextEvent = 0
      }
      return nil
    }
    defer { nextEvent += 1 }
    return events[nextEvent]
  }

  func tell(_ event: HTTP2Event) { events.append(event) }

  /// Drops the pending events of a stream.
  func untell(_ stream: HTTP2Stream) {
    guard nextEvent < events.count else { return }
    let rest = events[nextEvent...].filter { $0.stream != stream }
    events.removeSubrange(nextEvent...)
    events += rest
  }

  // MARK: bytes

  /// Processes received bytes. Call ``next()`` and then ``send(into:endsWithFrame:now:)`` afterwards.
  package func receive(_ bytes: UnsafeRawBufferPointer, now: UInt64) {
    guard loss == nil, let start = bytes.baseAddress, !bytes.isEmpty else { return }
    self.now = now
    liveness.read(now: now)
    // Bytes before the first frame that exceeds a budget are still processed.
    let (end, violation) = floods.scan(bytes, now: now) { number in
      streams.stream(number, clastro_http2_slot(door, number)) != nil
    }
    input = start
    let reason = clastro_http2_receive(door, start.assumingMemoryBound(to: UInt8.self), end)
    input = nil
    if let reason {
      fail(.violation(HTTP2Violation(.connection, "the server violated HTTP/2: \(String(cString: reason))")))
    }
    if let violation { fail(.violation(violation)) }
  }

  /// The stream whose head or trailers were received in part. Everything that the connection receives before the rest
  /// belongs to that header block (RFC 9113 §6.10), and no event reports it.
  package var streamWithinHead: HTTP2Stream? {
    guard loss == nil else { return nil }
    let number = clastro_http2_head_stream(door)
    return number == 0 ? nil : streams.stream(number, clastro_http2_slot(door, number))
  }

  /// Writes pending output into a buffer, as many frames as fit, and returns the number of bytes; 0 if nothing is left.
  /// A buffer of 64 KiB works well; DATA needs at least ten bytes.
  ///
  /// - Parameter endsWithFrame: whether the last frame must be complete and no frame larger than a TLS record. 0 may
  ///   then also mean that the next frame does not fit. Pass the same value in every call.
  package func send(into space: UnsafeMutableRawBufferPointer, endsWithFrame: Bool = false, now: UInt64) -> Int {
    guard !isBrokenOff, let start = space.baseAddress, !space.isEmpty else { return 0 }
    self.now = now
    let count = clastro_http2_send(door, start.assumingMemoryBound(to: UInt8.self), space.count, endsWithFrame)
    guard count >= 0 else {
      isBrokenOff = true
      fail(.violation(HTTP2Violation(.memory, "out of memory for output")))
      return 0
    }
    return count
  }

  /// Whether ``send(into:endsWithFrame:now:)`` would produce output.
  package var hasOutput: Bool { !isBrokenOff && clastro_http2_has_output(door) }

  /// Whether the connection can be closed: no input is expected and no output is left.
  package var wantsClose: Bool { loss != nil ? !hasOutput : clastro_http2_is_over(door) }

  /// Records that the byte stream ended or failed.
  package func connectionEnded() {
    fail(.closed(goAway.flatMap { $0.code == .noError ? nil : $0.code }))
    isBrokenOff = true
  }

  /// Closes the connection with GOAWAY.
  package func close() {
    guard loss == nil else { return }
    fail(.closed(nil), telling: .noError)
  }

  // MARK: time

  /// The time at which ``tick(now:output:)`` must be called next; `nil` if it need not be called.
  package var deadline: UInt64? { loss == nil ? liveness.deadline : nil }

  /// Acts on expired deadlines.
  ///
  /// - Parameter output: the delivery state of the bytes that ``send(into:endsWithFrame:now:)`` produced. It is
  ///   evaluated only if ``deadline`` has passed.
  package func tick(now: UInt64, output: @autoclosure () -> HTTP2Liveness.Output) {
    self.now = now
    guard let deadline, deadline <= now else { return }
    let output = output()
    while loss == nil, let step = liveness.due(now: now, output: output) {
      switch step {
      case .unhealthy: becomeUnhealthy()
      case .dead: fail(.unanswered, telling: .noError)
      }
    }
  }

  /// Sends a PING because a request has timed out. ``HTTP2Event/unhealthy`` is reported if it is not answered within 1
  /// s of its delivery.
  package func probe(now: UInt64) {
    guard loss == nil, liveness.probe(now: now) else { return }
    ping()
  }

  /// Marks the connection as unhealthy, so that it gets no new requests.
  func becomeUnhealthy() {
    guard loss == nil, !isUnhealthy else { return }
    isUnhealthy = true
    tell(.unhealthy)
  }

  @discardableResult
  func ping() -> UInt64 {
    pings += 1
    floods.sentProvoking()
    clastro_http2_ping(door, pings)
    return pings
  }

  // MARK: stream capacity

  /// The number of requests that may be opened now: the limit of server and configuration, less the open streams. It
  /// remains 0 after a GOAWAY, after the connection became unhealthy or ended, and after 2²⁹ streams.
  package var freeStreams: Int {
    isClosedToRequests ? 0 : max(0, min(configuration.streams, allowedStreams) - streams.count)
  }

  /// The number of concurrent requests that the server allows, as far as known.
  package var allowedStreams: Int { Int(clastro_http2_allowed_streams(door)) }

  /// Whether ``freeStreams`` will remain 0.
  package var isClosedToRequests: Bool { loss != nil || goAway != nil || isUnhealthy || isRetired }

  func willOpen() {
    if liveness.willRequest(now: now) { ping() }
  }

  func didOpen(_ number: Int32) { isRetired = number >= Self.lastNumber }

  // MARK: the end

  /// Ends the connection. All streams are reported as closed before the connection is reported as failed.
  func fail(_ loss: HTTP2Loss, telling code: HTTP2ErrorCode? = nil) {
    guard self.loss == nil else { return }
    self.loss = loss
    var code = code
    if case .violation(let violation) = loss { code = code ?? violation.code }
    if let code { clastro_http2_terminate(door, code.rawValue) }
    for stream in streams.all { finish(stream, .lost(loss)) }
    tell(.failed(loss))
  }
}
