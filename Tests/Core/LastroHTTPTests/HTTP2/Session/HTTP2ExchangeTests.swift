// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

@Suite("HTTP/2 exchanges")
struct HTTP2ExchangeTests {
  @Test("A connection begins with the preface, the settings and its window")
  func preface() throws {
    let lab = try SessionLab()
    let frames = lab.send()
    #expect(frames.map(\.type) == [4, 8])
    #expect(
      frames[0].payload
        == WireFrame.settings([(2, 0), (4, 1 << 20), (1, 4096), (6, 262_144), (9, 1)]).payload)
    #expect(frames[1] == .windowUpdate(UInt32(16 << 20) - 65_535, on: 0))
    #expect(lab.session.freeStreams == 100)
  }

  @Test("A GET receives head, body and end")
  func get() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    #expect(lab.frames(.headers).map(\.ends) == [true])
    lab.receive([
      .head(200, [("content-type", "text/plain"), ("content-length", "5")], on: 1),
      .data("hel".utf8, on: 1), .data("lo".utf8, on: 1, ends: true),
    ])
    #expect(lab.head(stream) == .http2(200, [("content-type", "text/plain"), ("content-length", "5")]))
    #expect(lab.bodies[1] == Array("hello".utf8))
    #expect(lab.ending(stream) == .whole)
    #expect(lab.told.count == 2)
    #expect(lab.session.streams.count == 0 && lab.session.unreadBytes == 0)
  }

  @Test("A repeated head is delivered exactly, and no cookie leaks from an earlier response")
  func repeatedHeads() throws {
    let lab = try SessionLab.ready()
    for (index, cookie) in ["a", "b", nil, nil, "c"].enumerated() {
      let stream = try lab.open()
      let fields = [("server", "x")] + (cookie.map { [("set-cookie", $0)] } ?? [])
      lab.receive([.head(200, fields, on: Int32(index * 2 + 1), ends: true)])
      #expect(lab.head(stream) == .http2(200, fields))
    }
  }

  @Test("Heads that share fields with earlier ones are decoded correctly")
  func similarHeads() throws {
    let lab = try SessionLab.ready()
    let heads: [[(String, String)]] = [
      [("a", "1"), ("b", "2"), ("c", "3")], [("a", "1"), ("b", "9"), ("c", "3")], [("a", "1"), ("c", "3")],
      [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")], [("a", "12"), ("b", ""), ("c", "3"), ("d", "4")],
      [("ab", "2"), ("c", ""), ("", "")].dropLast(), [("a", "b2"), ("c", "")], [], [("a", "1")],
    ]
    for fields in heads {
      let stream = try lab.open()
      lab.receive([.head(200, fields, on: stream.number, ends: true)])
      #expect(lab.head(stream) == .http2(200, fields))
    }
  }

  @Test("HEAD, 204 and 304 have no body, whatever length they announce", arguments: [("HEAD", 200), ("GET", 304)])
  func noBody(method: String, status: Int) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open(method)
    lab.receive([.head(status, [("content-length", "5")], on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("Interim heads are reported before the final one")
  func interim() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([
      .head(103, [("link", "</a>")], on: 1), .head(102, on: 1), .head(200, on: 1), .data([1], on: 1, ends: true),
    ])
    #expect(
      lab.told == [
        .interim(stream, .http2(103, [("link", "</a>")])), .interim(stream, .http2(102)), .head(stream, .http2(200)),
        .closed(stream, .whole),
      ])
  }

  @Test("Trailers are reported, without fields that are not allowed there")
  func trailersIn() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([
      .head(200, on: 1), .data([1], on: 1),
      .headers([("grpc-status", "0"), ("set-cookie", "x")], on: 1, ends: true),
    ])
    #expect(lab.has(.trailers(stream, [.init(name: "grpc-status", value: "0")])))
    #expect(lab.ending(stream) == .whole)
  }

  @Test("A body and its trailers are sent")
  func trailersOut() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open("POST", body: .stream(length: nil))
    #expect(lab.has(.wantsBody(stream)))
    lab.provide(3, on: stream)
    var trailers = HTTP2Fields()
    try trailers.add("X-Sum", "1")
    lab.session.endBody(stream, trailers: trailers)
    let frames = lab.send()
    #expect(frames.map(\.type) == [0, 1])
    #expect(frames.map(\.ends) == [false, true])
    #expect(frames[0].payload == Array("aaa".utf8))
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("The end of a body without announced bytes is requested once")
  func noBytes() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open("POST", body: .stream(length: 0))
    #expect(lab.has(.wantsBody(stream)))
    #expect(lab.send().isEmpty && lab.told.count { $0 == .wantsBody(stream) } == 1)
    lab.session.endBody(stream)
    let frames = lab.send()
    #expect(frames.map(\.type) == [0] && frames[0].ends && frames[0].payload.isEmpty)
    #expect(lab.session.requestPhase(of: stream) == .sent)
  }

  @Test("An empty body with trailers is sent as trailers only")
  func onlyTrailers() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open("POST", body: .stream(length: nil))
    var trailers = HTTP2Fields()
    try trailers.add("x-sum", "1")
    lab.session.endBody(stream, trailers: trailers)
    let frames = lab.send()
    #expect(frames.map(\.type) == [1] && frames[0].ends)
    #expect(lab.session.requestPhase(of: stream) == .sent)
  }

  @Test("An empty body ends with an empty frame")
  func emptyBody() throws {
    let lab = try SessionLab.ready()
    _ = try lab.upload(0)
    #expect(lab.frames(.data) == [.data([], on: 1, ends: true)])
  }

  @Test("Sensitive values are kept out of every compression table")
  func sensitive() throws {
    let lab = try SessionLab.ready()
    for _ in 0..<2 {
      var head = try SessionLab.request()
      try head.add("Authorization", "secret", isSensitive: true)
      try head.add("x-known", "value")
      _ = lab.session.open(head, now: lab.now)
    }
    let blocks = lab.send().map(\.payload)
    // The field is never indexed (RFC 7541 §6.2.3); `authorization` is entry 23 of the static table. The other field is
    // in the dynamic table the second time.
    for block in blocks { #expect(block.indices.dropLast().contains { block[$0] == 0x1F && block[$0 + 1] == 0x08 }) }
    #expect(blocks[1].count < blocks[0].count - 8)
  }

  @Test("The body waits for the windows of the stream and of the connection")
  func windows() throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(25)
    #expect(lab.frames(.data).map(\.payload.count) == [10])
    lab.receive([.windowUpdate(10, on: 1)])
    lab.receive([.windowUpdate(1, on: 1)])
    #expect(lab.frames(.data).map(\.payload.count) == [10, 10, 1])
    #expect(lab.session.requestPhase(of: stream) == .sending)
    #expect(lab.session.sentBytes(on: stream) == 21)
    lab.receive([.windowUpdate(100, on: 1)])
    #expect(lab.frames(.data).last == .data("aaaa".utf8, on: 1, ends: true))

    let wide = try SessionLab.ready(settings: [(4, 1 << 20)])
    let large = try wide.upload(0, ends: false)
    var provided = 0
    while case let count = wide.provide(65_536, on: large), count > 0 {
      provided += count
      wide.send()
    }
    // The connection's window limits the upload: 65,535 bytes were sent, and 64 KiB are buffered.
    #expect(wide.frames(.data).reduce(0) { $0 + $1.payload.count } == 65_535)
    #expect(wide.session.room(on: large) == 0)
    #expect(provided == 65_535 + 65_536)
  }

  @Test("More of the body is requested when half of the buffer has been sent")
  func asksForMore() throws {
    let lab = try SessionLab.ready(settings: [(4, 1 << 20)])
    lab.receive([.windowUpdate(1 << 24, on: 0)])
    let stream = try lab.open("POST", body: .stream(length: 200_000))
    var left = 200_000
    var asked = 0
    while left > 0 {
      guard lab.has(.wantsBody(stream)) else { break }
      asked += 1
      lab.forget()
      left -= lab.provide(left, on: stream)
      if left == 0 { lab.session.endBody(stream) }
      lab.send()
    }
    #expect(left == 0)
    #expect(asked == 4)
    #expect(!lab.has(.wantsBody(stream)))
    #expect(lab.frames(.data).last?.ends == true)
  }

  @Test(
    "The same frames are sent whatever the size of the output buffer",
    arguments: [10, 11, 100, 1_000, 1_033, 16_393, 65_536])
  func rooms(room: Int) throws {
    let reference = try SessionLab.ready(settings: [(4, 1 << 20)])
    let lab = try SessionLab.ready(settings: [(4, 1 << 20)])
    lab.room = room
    for one in [reference, lab] {
      _ = try one.upload(20_000)
      _ = try one.open()
    }
    let isSame = lab.frames(.data).flatMap(\.payload) == reference.frames(.data).flatMap(\.payload)
    #expect(isSame)
    #expect(lab.frames(.headers) == reference.frames(.headers))
    #expect(!lab.session.hasOutput)
  }

  @Test("A body longer or shorter than announced is refused")
  func requestLength() throws {
    let lab = try SessionLab.ready()
    let long = try lab.open("POST", body: .stream(length: 2))
    #expect(lab.provide(3, on: long) == 0)
    let short = try lab.open("POST", body: .stream(length: 2))
    lab.provide(1, on: short)
    lab.session.endBody(short)
    lab.send()
    for stream in [long, short] {
      guard case .broken(let violation)? = lab.ending(stream) else {
        Issue.record("no violation was reported"); continue
      }
      #expect(violation.kind == .requestBody)
      #expect(lab.frames(.resetStream, on: stream.number).map(\.number) == [8])
      #expect(!lab.frames(.data, on: stream.number).contains { $0.ends })
    }
  }

  @Test("As many streams as the server allows are opened, and a hundred before its settings arrive")
  func concurrency() throws {
    let lab = try SessionLab()
    for _ in 0..<100 { #expect(lab.session.open(try SessionLab.request(), now: lab.now) != nil) }
    #expect(lab.session.freeStreams == 0)
    #expect(lab.session.open(try SessionLab.request(), now: lab.now) == nil)

    let two = try SessionLab.ready(settings: [(3, 2)])
    #expect(two.session.freeStreams == 2)
    _ = try two.open()
    _ = try two.open()
    #expect(two.session.open(try SessionLab.request(), now: two.now) == nil)
    two.receive([.head(200, on: 1, ends: true)])
    #expect(two.session.freeStreams == 1)
    two.receive([.settings([(3, 0)])])
    #expect(two.session.freeStreams == 0 && !two.session.isClosedToRequests)
    two.receive([.settings([(3, 1000)])])
    #expect(two.session.freeStreams == 99)
    #expect(two.has(.capacity))
  }

  @Test("A request beyond a newly lowered stream limit is held back until a stream is free")
  func lateSettings() throws {
    let lab = try SessionLab()
    let streams = try (0..<3).map { _ in
      try #require(lab.session.open(try SessionLab.request(), now: lab.now))
    }
    lab.receive([.settings([(3, 1)])])
    #expect(lab.frames(.headers).count == 1)
    #expect(lab.session.freeStreams == 0)
    lab.session.reset(streams[1])
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.frames(.headers).map(\.stream) == [1, 5])
    #expect(lab.frames(.resetStream).isEmpty)
    lab.receive([.head(200, on: 5, ends: true)])
    #expect(lab.ending(streams[2]) == .whole)
  }

  @Test("A connection takes no new requests after 2²⁹ of them")
  func retires() throws {
    let lab = try SessionLab.ready()
    lab.session.didOpen(HTTP2Session.lastNumber + 1)
    #expect(lab.session.freeStreams == 0 && lab.session.isClosedToRequests)
    #expect(lab.session.next() == .retired)
    #expect(lab.session.open(try SessionLab.request(), now: lab.now) == nil)
  }

  @Test("PING and SETTINGS are answered, and the connection asks to be closed only at its end")
  func housekeeping() throws {
    let lab = try SessionLab.ready()
    lab.receive([.ping(), .settings([(5, 20_000)])])
    #expect(lab.sent == [.ping(isAck: true), .settingsAck])
    #expect(!lab.session.wantsClose)
    lab.session.close()
    #expect(!lab.session.wantsClose)
    #expect(lab.send() == [.goAway(last: 0)])
    #expect(lab.session.wantsClose)
    #expect(lab.session.freeStreams == 0)
  }
}

/// A session, the events that it reported, and the frames that it sent.
final class SessionLab {
  let session: HTTP2Session
  var now: UInt64 = 1_000 * HTTP2Time.second
  private(set) var told: [HTTP2Event] = []
  private(set) var bodies: [Int32: [UInt8]] = [:]
  private(set) var sent: [WireFrame] = []
  /// Whether the credit for read bytes is given back at once.
  var reads = true
  private var parser = WireFrameParser()
  /// The number of bytes of room that ``send()`` offers.
  var room = 65_536

  init(_ configuration: HTTP2Configuration = HTTP2Configuration()) throws {
    session = try HTTP2Session(configuration, now: now)
  }

  /// Returns a session that has exchanged settings with its server.
  static func ready(
    _ configuration: HTTP2Configuration = HTTP2Configuration(), settings: [(UInt16, UInt32)] = []
  ) throws -> SessionLab {
    let lab = try SessionLab(configuration)
    lab.send()
    lab.receive([.settings(settings), .settingsAck])
    lab.forget()
    return lab
  }

  static func request(_ method: String = "GET", _ path: String = "/") throws -> HTTP2Fields {
    try HTTP2Fields(method: method, scheme: "https", authority: "example.com", path: path)
  }

  /// Opens a stream, and sends its head.
  func open(_ method: String = "GET", body: HTTP2RequestBody = .none) throws -> HTTP2Stream {
    let stream = try #require(session.open(try Self.request(method), body: body, now: now))
    send()
    return stream
  }

  /// Opens a stream with a body. The whole body is provided, and sent as far as the windows allow.
  func upload(_ count: Int, ends: Bool = true) throws -> HTTP2Stream {
    let stream = try #require(session.open(try Self.request("POST"), body: .stream(length: nil), now: now))
    provide(count, on: stream)
    if ends { session.endBody(stream) }
    send()
    return stream
  }

  @discardableResult
  func provide(_ count: Int, on stream: HTTP2Stream) -> Int {
    [UInt8](repeating: 0x61, count: count).withUnsafeBytes { session.provide($0, on: stream) }
  }

  /// Returns all frames that the session has to send.
  @discardableResult
  func send() -> [WireFrame] {
    var frames: [WireFrame] = []
    withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { space in
      while case let count = session.send(into: space, now: now), count > 0 {
        frames += parser.feed(Array(space[..<count]))
      }
    }
    drain([])
    sent += frames
    return frames
  }

  /// Passes bytes to the session in one piece, and sends the resulting frames.
  func receive(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { session.receive($0, now: now) }
    drain(bytes)
    send()
  }

  func receive(_ frames: [WireFrame]) { receive(frames.flatMap(\.bytes)) }

  /// Reads all events of the session.
  func drain(_ input: [UInt8]) {
    while let event = session.next() {
      guard case .body(let stream, let range) = event else {
        told.append(event)
        continue
      }
      bodies[stream.number, default: []] += input[range]
      if reads { session.consumed(range.count, on: stream) }
    }
  }

  func tick(_ output: HTTP2Liveness.Output = .stuck) {
    session.tick(now: now, output: output)
    drain([])
    send()
  }

  func forget() { (told, sent) = ([], []) }

  /// Returns how a stream ended; `nil` if it has not ended.
  func ending(_ stream: HTTP2Stream) -> HTTP2Ending? {
    let endings = told.compactMap { event -> HTTP2Ending? in
      if case .closed(stream, let ending) = event { ending } else { nil }
    }
    if endings.count > 1 { Issue.record("stream \(stream.number) ended \(endings.count) times") }
    return endings.first
  }

  func head(_ stream: HTTP2Stream) -> ResponseHead? {
    told.lazy.compactMap { event -> ResponseHead? in
      if case .head(stream, let head) = event { head } else { nil }
    }.first
  }

  func has(_ event: HTTP2Event) -> Bool { told.contains(event) }

  /// Returns the sent frames of one type, optionally of one stream only.
  func frames(_ type: HTTP2FrameType, on stream: Int32? = nil) -> [WireFrame] {
    sent.filter { $0.type == type.rawValue && (stream == nil || $0.stream == stream) }
  }

  var violation: HTTP2Violation? {
    if case .violation(let violation)? = session.loss { violation } else { nil }
  }
}

extension HTTP2Event {
  /// The stream that the event concerns; `nil` for events of the connection.
  var stream: HTTP2Stream? {
    switch self {
    case .interim(let stream, _), .head(let stream, _), .body(let stream, _), .trailers(let stream, _): stream
    case .answered(let stream), .wantsBody(let stream), .stopsBody(let stream), .closed(let stream, _): stream
    case .capacity, .retired: nil
    }
  }
}

extension ResponseHead {
  static func http2(_ status: Int, _ fields: [(String, String)] = []) -> Self {
    Self(version: (2, 0), status: status, reason: "", fields: fields.map { .init(name: $0.0, value: $0.1) })
  }
}
