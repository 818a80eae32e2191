// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import LastroWire

/// The client's side of one HTTP/2 connection, without its byte stream: bytes and times in, bytes and events out.
///
/// It decides all that RFC 9113 and the configuration ask for: what may be opened, how much may be sent and received,
/// what an end means, whether the server is alive, and when it is hostile. Framing, HPACK and the states of streams
/// are libnghttp2's. Its owner, on one thread or behind one lock,
///
/// 1. makes it once the connection speaks `h2`, and writes what ``send(into:endsWithFrame:now:)`` gives until it gives
///    nothing;
/// 2. hands what was read to ``receive(_:now:)``, and takes ``next()`` until it is `nil` *before the memory that was
///    read into is used again*: bodies are told as ranges of it;
/// 3. opens a stream for each request, while ``freeStreams`` says that it may; provides the body as
///    ``HTTP2Event/wantsBody(_:)`` asks for it; tells with ``consumed(_:on:)`` what the reader took; ends with
///    ``reset(_:_:)`` what it does not want any more;
/// 4. calls ``tick(now:output:)`` when ``deadline`` has come;
/// 5. after each call takes ``next()`` and then ``send(into:endsWithFrame:now:)``, until neither gives anything: both
///    may make more of the other;
/// 6. closes the connection when ``wantsClose`` says so, and tells with ``connectionEnded()`` when it was closed by
///    the server.
///
///     let session = try HTTP2Session(HTTP2Configuration(), now: now)
///     let stream = session.open(head, now: now)          // `nil`: wait, or take another connection
///     let count = session.send(into: space, now: now)    // write space[..<count]
///     session.receive(input, now: now)
///     while let event = session.next() { … }
///
/// A stream ends with ``HTTP2Event/closed(_:_:)``, once, unless its owner reset it. Its ``HTTP2Ending`` says whether
/// the request may be sent again. Nothing is called back, and nothing is sent twice. Of bodies that came the session
/// keeps nothing: a reader who takes none of it leaves its owner with at most a window of bytes
/// (``HTTP2Configuration/streamWindow``, and what it grows to for readers who keep up).
package final class HTTP2Session {
  /// After this number the connection takes no new requests.
  package static let lastNumber: Int32 = 1 << 30

  let configuration: HTTP2Configuration
  /// `nil` only while it is made.
  // Unchecked, as others below, because one owner uses the session, and setting it calls nothing.
  @exclusivity(unchecked) private var door: OpaquePointer?
  private var events: ContiguousArray<HTTP2Event> = []
  private var nextEvent = 0

  let streams = HTTP2StreamTable()
  var heads = HTTP2HeadReader()
  var floods: HTTP2FloodGuard
  var bandwidth: BandwidthEstimate
  private var liveness: HTTP2Liveness
  var now: UInt64
  /// The start of the bytes that are being received.
  var input: UnsafeRawPointer?
  /// The window that was advertised to the server.
  var advertisedWindow: Int
  /// The bytes that readers have not taken, of all streams.
  package internal(set) var unreadBytes = 0
  let mostUnreadBytes: Int
  private var pings: UInt64 = 0
  var measuringPing: UInt64 = 0
  @exclusivity(unchecked) private var isRetired = false
  private var isBrokenOff = false

  /// The way in which the connection ended; `nil` while it lives.
  @exclusivity(unchecked) package private(set) var loss: HTTP2Loss?
  /// The latest GOAWAY.
  @exclusivity(unchecked) package internal(set) var goAway: HTTP2GoAway?
  /// Whether the connection is given no new requests: the server did not answer a PING after a request had timed out,
  /// or it resets almost every stream.
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
      maximum_sent_head_bytes: HTTP2Fields.maximumBytes,
      // The guard bounds them by their bytes, before nghttp2 sees them.
      maximum_continuations: .max)
    var table = HTTP2Door.events
    door = clastro_http2_new(&settings, &table, Unmanaged.passUnretained(self).toOpaque())
    guard door != nil else { throw HTTP2Violation(.memory, "memory for an HTTP/2 session ran out") }
  }

  deinit { clastro_http2_free(door) }

  // MARK: events

  /// Returns the next event; `nil` when there is none.
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

  /// Drops the events of a stream that were not taken.
  func untell(_ stream: HTTP2Stream) {
    guard nextEvent < events.count else { return }
    let rest = events[nextEvent...].filter { $0.stream != stream }
    events.removeSubrange(nextEvent...)
    events += rest
  }

  // MARK: bytes

  /// Reads. Has to be followed by ``next()``, and then by ``send(into:endsWithFrame:now:)``.
  package func receive(_ bytes: UnsafeRawBufferPointer, now: UInt64) {
    guard loss == nil, let start = bytes.baseAddress, !bytes.isEmpty, let door else { return }
    self.now = now
    liveness.read(now: now)
    // What came before the first frame that no budget covers is read.
    let (end, violation) = floods.scan(bytes, now: now) { number in
      streams.stream(number, clastro_http2_slot(door, number)) != nil
    }
    input = start
    let reason = clastro_http2_receive(door, start.assumingMemoryBound(to: UInt8.self), end)
    input = nil
    if let reason {
      fail(.violation(HTTP2Violation(.connection, "the server broke HTTP/2: \(String(cString: reason))")))
    }
    if let violation { fail(.violation(violation)) }
  }

  /// The stream of which a head, or trailers, came in part. What comes before the rest belongs to it (RFC 9113 §6.10),
  /// and no event tells of it.
  package var streamWithinHead: HTTP2Stream? {
    guard loss == nil, let door else { return nil }
    let number = clastro_http2_head_stream(door)
    return number == 0 ? nil : streams.stream(number, clastro_http2_slot(door, number))
  }

  /// Gives what is to be written: as many frames as there are and as fit, 0 when nothing is left. 64 KiB of room are
  /// good; ten bytes are needed for anything of a body.
  ///
  /// - Parameter endsWithFrame: whether the last frame has to be whole, and none larger than a TLS record. 0 may then
  ///   also mean that the next frame does not fit. It has to be the same in every call.
  package func send(into space: UnsafeMutableRawBufferPointer, endsWithFrame: Bool = false, now: UInt64) -> Int {
    guard !isBrokenOff, let door, let start = space.baseAddress, !space.isEmpty else { return 0 }
    self.now = now
    let count = clastro_http2_send(door, start.assumingMemoryBound(to: UInt8.self), space.count, endsWithFrame)
    guard count >= 0 else {
      isBrokenOff = true
      fail(.violation(HTTP2Violation(.memory, "no memory for what is to be sent")))
      return 0
    }
    return count
  }

  /// Whether ``send(into:endsWithFrame:now:)`` would give something.
  package var hasOutput: Bool { !isBrokenOff && door.map(clastro_http2_has_output) ?? false }

  /// Whether nothing more is to come nor to be written.
  package var wantsClose: Bool {
    loss != nil ? !hasOutput : door.map(clastro_http2_is_over) ?? true
  }

  /// The byte stream ended or broke.
  package func connectionEnded() {
    fail(.closed(goAway.flatMap { $0.code == .noError ? nil : $0.code }))
    isBrokenOff = true
  }

  /// Ends the connection, with GOAWAY.
  package func close() {
    guard loss == nil else { return }
    fail(.closed(nil), telling: .noError)
  }

  // MARK: time

  /// The time at which ``tick(now:output:)`` is to be called next; `nil` for never.
  package var deadline: UInt64? { loss == nil ? liveness.deadline : nil }

  /// Acts on the time.
  ///
  /// - Parameter output: the state of the bytes that ``send(into:endsWithFrame:now:)`` gave before. It is asked for
  ///   only when ``deadline`` has come.
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

  /// Sends a PING because a request has timed out. ``HTTP2Event/unhealthy`` follows when it is not answered within
  /// 1 s of its delivery.
  package func probe(now: UInt64) {
    guard loss == nil, liveness.probe(now: now) else { return }
    ping()
  }

  /// Mean time from a PING to its answer, in nanoseconds; `nil` before the first.
  package var roundTrip: UInt64? { bandwidth.roundTrip.map { UInt64($0) } }

  /// Gives the connection no new requests.
  func becomeUnhealthy() {
    guard loss == nil, !isUnhealthy else { return }
    isUnhealthy = true
    tell(.unhealthy)
  }

  @discardableResult
  func ping() -> UInt64 {
    pings += 1
    floods.sentProvoking()
    if let door { clastro_http2_ping(door, pings) }
    return pings
  }

  // MARK: what may be opened

  /// The number of requests that may be opened now: as server and configuration allow, less those that are open. 0
  /// for ever once the server goes away, was given up, or has had 2²⁹ streams.
  package var freeStreams: Int {
    guard loss == nil, goAway == nil, !isUnhealthy, !isRetired, let door else { return 0 }
    return max(0, min(configuration.streams, Int(clastro_http2_allowed_streams(door))) - streams.count)
  }

  /// The number of requests that the server allows at a time, as far as is known.
  package var allowedStreams: Int { door.map { Int(clastro_http2_allowed_streams($0)) } ?? 0 }

  /// Whether ``freeStreams`` is 0 for ever.
  package var isClosedToRequests: Bool { loss != nil || goAway != nil || isUnhealthy || isRetired }

  /// Streams that are open.
  package var openStreams: Int { streams.count }

  func willOpen() {
    if liveness.willRequest(now: now) { ping() }
  }

  func didOpen(_ number: Int32) { isRetired = number >= Self.lastNumber }

  // MARK: the end

  /// Calls the door, which is there as long as the session is.
  func withDoor<Result>(_ body: (OpaquePointer) -> Result, or other: Result) -> Result { door.map(body) ?? other }

  func withDoor(_ body: (OpaquePointer) -> Void) {
    if let door { body(door) }
  }

  /// Ends everything. The events of streams come before that of the connection.
  func fail(_ loss: HTTP2Loss, telling code: HTTP2ErrorCode? = nil) {
    guard self.loss == nil else { return }
    self.loss = loss
    var code = code
    if case .violation(let violation) = loss { code = code ?? violation.code }
    if let code { withDoor { clastro_http2_terminate($0, code.rawValue) } }
    for stream in streams.all { finish(stream, .lost(loss)) }
    tell(.failed(loss))
  }
}
