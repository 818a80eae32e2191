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
  private static let headerTableBytes = 4_096
  /// The payload of the PING that measures the bandwidth.
  static let measuringPayload: UInt64 = 1

  let configuration: HTTP2Configuration
  /// nghttp2's session.
  let nghttp2: OpaquePointer
  let output: HTTP2Output
  private var events: ContiguousArray<HTTP2Event> = []
  private var nextEvent = 0

  let streams = HTTP2StreamTable()
  /// The stream of the latest look-up, because several events of one stream follow each other.
  private var latestStream = HTTP2Stream(number: 0, slot: 0)
  // Unchecked because the session has one owner, and changing the block calls no other code.
  @exclusivity(unchecked) var block = HTTP2Block()
  var heads = HTTP2HeadReader()
  /// The memory for the fields of the latest request, in nghttp2's form.
  // Unchecked, like the block: the fields are submitted within one access, and nghttp2 calls nothing back meanwhile.
  @exclusivity(unchecked) var pairs: [nghttp2_nv] = []
  var floods: HTTP2FloodGuard
  var bandwidth: BandwidthEstimate
  var liveness: HTTP2Liveness
  var now: UInt64
  /// The start of the input that is being received.
  var input: UnsafeRawPointer?
  /// The stream window that was advertised to the server.
  var advertisedWindow: Int
  /// The number of bytes that readers have not taken, over all streams.
  package internal(set) var unreadBytes = 0
  private var isBrokenOff = false
  /// Whether SETTINGS of the server have arrived.
  package internal(set) var hasSettings = false

  /// The reason why the connection ended; `nil` while it is open.
  // Unchecked, like the property below: the session has one owner, and setting these properties calls no other code.
  @exclusivity(unchecked) package private(set) var loss: HTTP2Loss?
  /// Whether ``freeStreams`` will remain 0.
  @exclusivity(unchecked) package private(set) var isClosedToRequests = false
  /// The code of the latest GOAWAY that was received, unless that is NO_ERROR.
  var goAwayCode: HTTP2ErrorCode?

  /// - Throws: ``HTTP2Violation`` of kind `memory`.
  package init(_ configuration: HTTP2Configuration, now: UInt64) throws(HTTP2Violation) {
    self.configuration = configuration
    self.now = now
    advertisedWindow = configuration.streamWindow
    bandwidth = BandwidthEstimate(
      window: configuration.streamWindow, maximumWindow: configuration.maximumStreamWindow)
    liveness = HTTP2Liveness(configuration.liveness, now: now)
    floods = HTTP2FloodGuard(maximumHeadBytes: configuration.limits.headBytes)
    guard let session = Self.makeSession(configuration) else {
      throw HTTP2Violation(.memory, "out of memory for an HTTP/2 session")
    }
    nghttp2 = session
    output = HTTP2Output(session)
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { nghttp2_session_del(nghttp2) }

  /// Creates nghttp2's session, which sends our SETTINGS first. Returns `nil` if there is no memory.
  private static func makeSession(_ configuration: HTTP2Configuration) -> OpaquePointer? {
    let streams = UInt32(clamping: min(configuration.streams, configuration.streamsBeforeSettings))
    guard let callbacks = HTTP2Callbacks.shared,
      let option = clastro_http2_option(streams, headerTableBytes, HTTP2Fields.maximumBytes)
    else { return nil }
    defer { nghttp2_option_del(option) }
    var made: OpaquePointer?
    guard nghttp2_session_client_new2(&made, callbacks, nil, option) == 0, let session = made else { return nil }
    let entries = [
      nghttp2_settings_entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
      nghttp2_settings_entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, configuration.streamWindow),
      nghttp2_settings_entry(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, headerTableBytes),
      nghttp2_settings_entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, configuration.limits.headBytes),
      // SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 §2.1).
      nghttp2_settings_entry(settings_id: 9, value: 1),
    ]
    let window = Int32(clamping: configuration.connectionWindow)
    if nghttp2_submit_settings(session, 0, entries, entries.count) == 0,
      nghttp2_session_set_local_window_size(session, 0, 0, window) == 0
    {
      return session
    }
    nghttp2_session_del(session)
    return nil
  }

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

  // MARK: bytes

  /// Processes received bytes. Call ``next()`` and then ``send(into:endsWithFrame:now:)`` afterwards.
  package func receive(_ bytes: UnsafeRawBufferPointer, now: UInt64) {
    guard loss == nil, let start = bytes.baseAddress, !bytes.isEmpty else { return }
    self.now = now
    liveness.read(now: now)
    // Bytes before the first frame that exceeds a budget are still processed.
    let (end, violation) = floods.scan(bytes, now: now) { openStream($0) != nil }
    input = start
    let result = nghttp2_session_mem_recv(nghttp2, start.assumingMemoryBound(to: UInt8.self), end)
    input = nil
    if result < 0 {
      let reason = String(cString: nghttp2_strerror(Int32(clamping: result)))
      fail(.violation(HTTP2Violation(.connection, "the server violated HTTP/2: \(reason)")))
    }
    if let violation { fail(.violation(violation)) }
  }

  /// The stream whose head or trailers were received in part. Everything that the connection receives before the rest
  /// belongs to that header block (RFC 9113 §6.10), and no event reports it.
  package var streamWithinHead: HTTP2Stream? { loss == nil ? openStream(block.stream) : nil }

  /// Returns the stream with a number on the wire; `nil` if it is not open.
  func openStream(_ number: Int32) -> HTTP2Stream? {
    if number != latestStream.number {
      guard number > 0, let data = nghttp2_session_get_stream_user_data(nghttp2, number) else { return nil }
      latestStream = HTTP2Stream(number: number, slot: Int(bitPattern: data) - 1)
    }
    return streams.contains(latestStream) ? latestStream : nil
  }

  /// Writes pending output into a buffer, as many frames as fit, and returns the number of bytes; 0 if nothing is left.
  /// A buffer of 64 KiB works well; DATA needs at least ten bytes.
  ///
  /// - Parameter endsWithFrame: whether the last frame must be complete and no frame larger than a TLS record. 0 may
  ///   then also mean that the next frame does not fit. Pass the same value in every call.
  package func send(into space: UnsafeMutableRawBufferPointer, endsWithFrame: Bool = false, now: UInt64) -> Int {
    guard !isBrokenOff, !space.isEmpty else { return 0 }
    self.now = now
    guard let count = output.fill(space, endsWithFrame: endsWithFrame) else {
      isBrokenOff = true
      fail(.violation(HTTP2Violation(.memory, "out of memory for output")))
      return 0
    }
    return count
  }

  /// Whether ``send(into:endsWithFrame:now:)`` would produce output.
  package var hasOutput: Bool { !isBrokenOff && (!output.isEmpty || nghttp2_session_want_write(nghttp2) != 0) }

  /// Whether the connection can be closed: no input is expected and no output is left.
  package var wantsClose: Bool { !hasOutput && (loss != nil || nghttp2_session_want_read(nghttp2) == 0) }

  /// Records that the byte stream ended or failed.
  package func connectionEnded() {
    fail(.closed(goAwayCode))
    isBrokenOff = true
  }

  /// Closes the connection with GOAWAY.
  package func close() { fail(.closed(nil)) }

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
      case .unhealthy: retire()
      case .dead: fail(.unanswered)
      }
    }
  }

  /// Sends a PING because a request has timed out. ``HTTP2Event/retired`` is reported if it is not answered within 1 s
  /// of its delivery.
  package func probe(now: UInt64) {
    guard loss == nil, liveness.probe(now: now) else { return }
    ping()
  }

  /// Lets the connection take no new requests.
  func retire() {
    guard !isClosedToRequests else { return }
    isClosedToRequests = true
    tell(.retired)
  }

  /// Sends a PING. Only the answer to the one that measures the bandwidth is looked at: any received byte shows that
  /// the server is alive.
  func ping(_ payload: UInt64 = 0) {
    floods.sentProvoking()
    withUnsafeBytes(of: payload) {
      _ = nghttp2_submit_ping(nghttp2, 0, $0.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  // MARK: stream capacity

  /// The number of requests that may be opened now: the limit of server and configuration, less the open streams. It
  /// remains 0 after ``HTTP2Event/retired``.
  package var freeStreams: Int {
    isClosedToRequests ? 0 : max(0, min(configuration.streams, allowedStreams) - streams.count)
  }

  /// The number of concurrent requests that the server allows, as far as known.
  package var allowedStreams: Int {
    Int(nghttp2_session_get_remote_settings(nghttp2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Whether the server has announced extended CONNECT (RFC 8441 §3). nghttp2 treats a withdrawal as an error of the
  /// connection.
  package var allowsTunnels: Bool {
    nghttp2_session_get_remote_settings(nghttp2, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1
  }

  func didOpen(_ number: Int32) {
    if number >= Self.lastNumber { retire() }
  }

  // MARK: the end

  /// Ends the connection, after all of its streams.
  func fail(_ loss: HTTP2Loss) {
    guard self.loss == nil else { return }
    self.loss = loss
    let code = if case .violation(let violation) = loss { violation.code } else { HTTP2ErrorCode.noError }
    nghttp2_session_terminate_session(nghttp2, code.rawValue)
    for stream in streams.all { close(stream, .lost(loss)) }
    retire()
  }
}

extension nghttp2_settings_entry {
  init(_ id: nghttp2_settings_id, _ value: Int) {
    self.init(settings_id: Int32(bitPattern: id.rawValue), value: UInt32(clamping: value))
  }
}
