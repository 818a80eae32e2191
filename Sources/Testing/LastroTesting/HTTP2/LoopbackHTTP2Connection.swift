// SPDX-License-Identifier: Apache-2.0

/// A connection of an HTTP/2 server, driven by its handler: blocking, on the connection's own thread.
///
/// While requests are read, the connection performs the duties of a peer: it acknowledges settings and pings,
/// replenishes the windows for bodies, and makes responses wait for the client's windows. ``readFrame()`` and
/// ``write(_:)`` do none of this: they give full control over the wire.
package final class LoopbackHTTP2Connection {
  /// The underlying connection, with resets, closes and gates.
  package let connection: LoopbackConnection

  let settings: LoopbackHTTP2Settings
  var streams: [UInt32: LoopbackHTTP2Stream] = [:]
  /// The number of body bytes that the client's connection window allows, for all streams together.
  var window = 65_535
  /// The last stream of a GOAWAY that this side sent.
  var lastStream: UInt32?
  var isOver = false
  private(set) var largestFrame = 16_384
  private var initialWindow = 65_535
  private var newestStream: UInt32 = 0
  private var arrived: [UInt32] = []
  private let decoder: HeaderBlock.Decoder

  /// The maximum number of bytes of a header block.
  private static let maximumHeadBytes = 4 * 1024 * 1024
  private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

  /// Sends SETTINGS and reads the client's preface (RFC 9113 §3.4).
  ///
  /// - Throws: ``LoopbackError/disconnected``; ``LoopbackError/malformedRequest(_:)`` if the client does not speak
  ///   HTTP/2.
  package init(_ connection: LoopbackConnection, settings: LoopbackHTTP2Settings = .init()) throws(LoopbackError) {
    self.connection = connection
    self.settings = settings
    decoder = try HeaderBlock.Decoder()
    try connection.write(LoopbackHTTP2Frame.settings(settings.announced).bytes)
    let preface = try connection.read(exactly: Self.preface.utf8.count)
    guard preface.elementsEqual(Self.preface.utf8) else {
      throw .malformedRequest("it does not begin with the preface of HTTP/2")
    }
  }

  // MARK: frames

  /// Reads a frame of any type; returns `nil` if the connection ends before it.
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the connection ends within it; ``LoopbackError/malformedRequest(_:)``
  ///   if the frame exceeds ``LoopbackHTTP2Settings/maximumFrameSize``.
  package func readFrame() throws(LoopbackError) -> LoopbackHTTP2Frame? {
    var header = connection.read(max: 9)
    if header.isEmpty { return nil }
    header += try connection.read(exactly: 9 - header.count)
    let length = Int(LoopbackHTTP2Frame.number(header[..<3]))
    guard length <= settings.maximumFrameSize else { throw .malformedRequest("a frame has \(length) bytes") }
    return LoopbackHTTP2Frame(
      .init(rawValue: header[3]), flags: header[4], stream: LoopbackHTTP2Frame.number(header[5...]) & 0x7fff_ffff,
      payload: try connection.read(exactly: length))
  }

  /// Writes frames unchanged, in order. The caller must respect the client's windows.
  ///
  /// - Throws: ``LoopbackError/disconnected``.
  package func write(_ frames: LoopbackHTTP2Frame...) throws(LoopbackError) {
    try connection.write(frames.flatMap(\.bytes))
  }

  // MARK: requests

  /// Reads until the next request is complete, or its head if ``LoopbackHTTP2Settings/answersEarly`` is true. Returns
  /// `nil` if the connection ends first.
  ///
  /// - Throws: ``LoopbackError``.
  package func readRequest() throws(LoopbackError) -> LoopbackRequest? {
    while true {
      if let request = nextRequest() { return request }
      guard !isOver, try step() else { return nil }
      try sendWhatFits()
    }
  }

  /// Returns the next request that the handler has not received.
  func nextRequest() -> LoopbackRequest? {
    while !arrived.isEmpty {
      if let request = streams[arrived.removeFirst()]?.request { return request }
    }
    return nil
  }

  /// Reads a frame and performs the duties of a peer; returns false at the end of the connection.
  func step() throws(LoopbackError) -> Bool {
    guard let frame = try readFrame() else { return false }
    try handle(frame)
    return true
  }

  /// Performs the duties of a peer for a frame.
  func handle(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) {
    switch frame.kind {
    case .headers: try readHeaders(frame)
    case .data: try readData(frame)
    case .settings where frame.flags & LoopbackHTTP2Frame.acknowledgement == 0: try readSettings(frame)
    case .ping where frame.flags & LoopbackHTTP2Frame.acknowledgement == 0:
      try write(
        LoopbackHTTP2Frame(.ping, flags: LoopbackHTTP2Frame.acknowledgement, stream: 0, payload: frame.payload))
    case .windowUpdate: try readWindowUpdate(frame)
    case .resetStream: try readReset(frame)
    case .pushPromise, .continuation:
      throw .malformedRequest("a frame of type \(frame.kind.rawValue) comes where none may")
    default: break
    }
  }

  private func readHeaders(_ first: LoopbackHTTP2Frame) throws(LoopbackError) {
    var block = try Self.unpadded(first)
    if first.flags & LoopbackHTTP2Frame.hasPriority != 0 { block = block.dropFirst(5) }
    var last = first
    while last.flags & LoopbackHTTP2Frame.endHeaders == 0 {
      guard let next = try readFrame(), next.kind == .continuation, next.stream == first.stream else {
        throw .malformedRequest("its header block breaks off")
      }
      last = next
      block += next.payload
      if block.count > Self.maximumHeadBytes { throw .malformedRequest("its head is too large") }
    }
    // Decode every block, even if it is not needed, to keep the table in sync.
    let fields = try decoder.decode(Array(block))
    let ends = first.flags & LoopbackHTTP2Frame.endStream != 0
    if streams[first.stream] != nil {
      streams[first.stream]?.request.trailerFields = fields
      if ends { complete(first.stream) }
    } else if first.stream > newestStream {
      newestStream = first.stream
      try open(first.stream, fields, bytes: Array(block), ends: ends)
    }
  }

  private func open(
    _ id: UInt32, _ fields: [RawRequestHead.Field], bytes: [UInt8], ends: Bool
  ) throws(LoopbackError) {
    // RFC 9113 §6.8: streams above the last one of a GOAWAY are ignored.
    if let lastStream, id > lastStream { return }
    if let limit = settings.maximumConcurrentStreams, streams.count >= limit {
      return try write(.resetStream(.refusedStream, stream: id))
    }
    let head = try RawRequestHead(http2: fields, bytes: bytes)
    let request = LoopbackRequest(
      head: head, body: [], isComplete: ends, connection: connection.number, stream: id)
    streams[id] = LoopbackHTTP2Stream(request: request, window: initialWindow)
    connection.core.record(request)
    if ends || settings.answersEarly { arrived.append(id) }
  }

  private func complete(_ id: UInt32) {
    guard var stream = streams[id], !stream.request.isComplete else { return }
    stream.request.isComplete = true
    streams[id] = stream.isAnswered ? nil : stream
    connection.core.complete(
      connection: connection.number, stream: id, body: stream.request.body, trailers: stream.request.trailerFields)
    if !settings.answersEarly { arrived.append(id) }
  }

  private func readData(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) {
    let ends = frame.flags & LoopbackHTTP2Frame.endStream != 0
    streams[frame.stream]?.request.body += try Self.unpadded(frame)
    if settings.replenishesWindows, !frame.payload.isEmpty {
      let count = UInt32(clamping: frame.payload.count)
      try write(.windowUpdate(count, stream: 0))
      if !ends, streams[frame.stream] != nil { try write(.windowUpdate(count, stream: frame.stream)) }
    }
    if ends { complete(frame.stream) }
  }

  private func readSettings(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) {
    var rest = frame.payload[...]
    while rest.count >= 6 {
      let value = Int(LoopbackHTTP2Frame.number(rest.dropFirst(2).prefix(4)))
      switch LoopbackHTTP2Frame.number(rest.prefix(2)) {
      case 4:
        // RFC 9113 §6.9.2: open streams gain or lose the difference.
        for id in streams.keys { streams[id]?.window += value - initialWindow }
        initialWindow = value
      case 5: largestFrame = max(1, value)
      default: break
      }
      rest = rest.dropFirst(6)
    }
    try write(LoopbackHTTP2Frame(.settings, flags: LoopbackHTTP2Frame.acknowledgement, stream: 0))
  }

  private func readWindowUpdate(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) {
    guard frame.payload.count == 4 else { throw .malformedRequest("a WINDOW_UPDATE has not four bytes") }
    let count = Int(LoopbackHTTP2Frame.number(frame.payload) & 0x7fff_ffff)
    if frame.stream == 0 { window += count } else { streams[frame.stream]?.window += count }
  }

  private func readReset(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) {
    // RFC 9113 §6.4.
    guard frame.stream <= newestStream else { throw .malformedRequest("it resets a stream that it has not opened") }
    guard streams.removeValue(forKey: frame.stream) != nil else { return }
    let code = LoopbackHTTP2Code(rawValue: LoopbackHTTP2Frame.number(frame.payload.prefix(4)))
    connection.core.reset(connection: connection.number, stream: frame.stream, code)
  }

  private static func unpadded(_ frame: LoopbackHTTP2Frame) throws(LoopbackError) -> ArraySlice<UInt8> {
    guard frame.flags & LoopbackHTTP2Frame.padded != 0 else { return frame.payload[...] }
    guard let padding = frame.payload.first, padding < frame.payload.count else {
      throw .malformedRequest("a frame has more padding than bytes")
    }
    return frame.payload.dropFirst().dropLast(Int(padding))
  }
}

extension RawRequestHead {
  /// Creates a head from an HTTP/2 header block; the pseudo-fields stay among the fields (RFC 9113 §8.3.1).
  init(http2 fields: [Field], bytes: [UInt8]) throws(LoopbackError) {
    let method = fields.first { $0.name == ":method" }?.value
    let target = fields.first { $0.name == ":path" }?.value ?? fields.first { $0.name == ":authority" }?.value
    guard let method, let target else { throw .malformedRequest("it has no :method or no :path") }
    self.init(
      requestLine: "\(method) \(target) HTTP/2", method: method, target: target, version: "HTTP/2", fields: fields,
      bytes: bytes)
  }
}
