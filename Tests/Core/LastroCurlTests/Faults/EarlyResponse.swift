// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

/// A response that begins before the request's body is complete, and its expected effects. Each value is a row of the
/// table that applies to both HTTP versions.
struct EarlyResponse: Sendable, CustomTestStringConvertible {
  enum Version: String, Sendable { case http1, http2 }

  /// The time at which the head is sent: before the first byte of the body, or after 16 KiB of it.
  enum Arrival: String, Sendable { case before, amid }

  /// Whether the response is complete at once, or ends only after the request, as an echo does.
  enum Shape: String, Sendable { case whole, streamed }

  enum Mark: String, Sendable {
    /// The request has `Expect: 100-continue`.
    case expect
    /// The response has `Connection: close`.
    case close
    /// RST_STREAM with NO_ERROR follows the response.
    case reset
  }

  /// The fate of the rest of the body: it is sent completely, or the client stops after the bytes in progress.
  enum Rest: String, Sendable { case sent, stopped }

  /// The connection that carries the next request.
  enum Next: String, Sendable { case same, new }

  var version: Version
  var status: Int
  var arrival: Arrival
  var shape: Shape
  var marks: Set<Mark>
  var rest: Rest
  var next: Next

  static let table = """
    version status head   response marks        rest    next
    http1   200    before whole    -            sent    same
    http1   200    before whole    expect       sent    same
    http1   200    before whole    close        stopped new
    http1   200    before whole    expect,close stopped new
    http1   200    before streamed -            sent    same
    http1   200    before streamed expect       sent    same
    http1   200    before streamed close        sent    new
    http1   200    before streamed expect,close sent    new
    http1   200    amid   whole    -            sent    same
    http1   200    amid   whole    expect       sent    same
    http1   200    amid   streamed -            sent    same
    http1   200    amid   streamed close        sent    new
    http1   204    before whole    -            sent    same
    http1   204    before whole    expect       sent    same
    http1   303    before whole    -            stopped new
    http1   303    before whole    expect       stopped new
    http1   304    amid   whole    -            stopped new
    http1   413    before whole    -            stopped new
    http1   413    before whole    expect       stopped new
    http1   413    before whole    expect,close stopped new
    http1   413    before streamed expect       stopped new
    http1   413    amid   whole    -            stopped new
    http1   503    amid   streamed close        stopped new
    http2   200    before whole    -            sent    same
    http2   200    before whole    reset        stopped same
    http2   200    before streamed -            sent    same
    http2   200    amid   whole    -            sent    same
    http2   200    amid   whole    reset        stopped same
    http2   200    amid   streamed -            sent    same
    http2   204    before whole    -            sent    same
    http2   204    before whole    reset        stopped same
    http2   303    before whole    -            stopped same
    http2   304    amid   whole    reset        stopped same
    http2   413    before whole    -            stopped same
    http2   413    before whole    reset        stopped same
    http2   413    amid   whole    -            stopped same
    http2   503    amid   streamed -            stopped same
    """

  static let rows: [EarlyResponse] = table.split(separator: "\n").dropFirst().compactMap { line in
    let cells = line.split(separator: " ").map(String.init)
    guard cells.count == 7, let version = Version(rawValue: cells[0]), let status = Int(cells[1]),
      let arrival = Arrival(rawValue: cells[2]), let shape = Shape(rawValue: cells[3]),
      let rest = Rest(rawValue: cells[5]), let next = Next(rawValue: cells[6])
    else { return nil }
    let marks = Set(cells[4].split(separator: ",").compactMap { Mark(rawValue: String($0)) })
    return EarlyResponse(
      version: version, status: status, arrival: arrival, shape: shape, marks: marks, rest: rest, next: next)
  }

  var testDescription: String {
    "\(version.rawValue) \(status) \(arrival.rawValue) \(shape.rawValue) \(marks.map(\.rawValue).sorted()) \(rest.rawValue)"
  }

  /// The number of body bytes that the source provides before the response. `allBytes` is the size of the whole body.
  static let firstBytes = 16_384
  static let allBytes = 49_152

  var hasBody: Bool { status != 204 && status != 304 }

  var expectedText: String { !hasBody ? "" : shape == .whole ? "early" : "earlylate" }

  /// Returns a server that sends this response to `/early`, and answers every other request at once.
  ///
  /// - Parameters:
  ///   - answered: records an event when the early response, or its beginning, has been sent.
  ///   - received: records how many bytes of the body have arrived in total.
  ///   - tls: the options of TLS. Default: plaintext.
  func server(
    answered: EventRecorder<Int>, received: EventRecorder<Int>, tls: LoopbackTLS? = nil
  ) throws -> LoopbackServer {
    switch version {
    case .http1: try http1Server(answered, received, tls)
    case .http2: try http2Server(answered, received, tls)
    }
  }

  // MARK: HTTP/1.1

  private func http1Server(
    _ answered: EventRecorder<Int>, _ received: EventRecorder<Int>, _ tls: LoopbackTLS?
  ) throws -> LoopbackServer {
    try LoopbackServer(tls: tls) { connection in
      while let head = try connection.readHead() {
        guard head.path == "/early" else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
          continue
        }
        var count = 0
        defer { received.record(count) }
        var line = ""
        if arrival == .amid {
          if marks.contains(.expect) { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
          count += try read(Self.firstBytes, of: head, on: connection, &line)
        }
        try connection.write(http1Head)
        answered.record(1)
        if rest == .sent {
          count += try read(Self.allBytes - count, of: head, on: connection, &line)
          if head.isChunked { _ = try connection.read(exactly: 5) }
        }
        if shape == .streamed { try connection.write("4\r\nlate\r\n0\r\n\r\n") }
        guard marks.contains(.close) || rest == .stopped else { continue }
        // Closing the connection while bytes arrive would reset it, and the response might be lost. The server closes
        // one direction instead, and reads to the end.
        if marks.contains(.close) { connection.halfClose() }
        count += connection.readToEnd().count
        return
      }
    }
  }

  private var http1Head: String {
    let head = "HTTP/1.1 \(status) X\r\n" + (marks.contains(.close) ? "Connection: close\r\n" : "")
    if !hasBody { return head + "\r\n" }
    if shape == .whole { return head + "Content-Length: 5\r\n\r\nearly" }
    return head + "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n"
  }

  /// Reads `count` bytes of the body. Chunks end at the same offsets as the pieces of the source.
  private func read(
    _ count: Int, of head: RawRequestHead, on connection: LoopbackConnection, _ line: inout String
  ) throws -> Int {
    guard head.isChunked else { return try connection.read(exactly: count).count }
    var bytes = 0
    while bytes < count {
      line = connection.readLine() ?? ""
      guard let size = Int(line, radix: 16), size > 0 else { throw LoopbackError.disconnected }
      bytes += try connection.read(exactly: size).count
      _ = try connection.read(exactly: 2)
    }
    return bytes
  }

  // MARK: HTTP/2

  private func http2Server(
    _ answered: EventRecorder<Int>, _ received: EventRecorder<Int>, _ tls: LoopbackTLS?
  ) throws -> LoopbackServer {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    return try LoopbackServer.http2Script(tls: tls, settings: settings) { http2 in
      while let request = try http2.readRequest(), let stream = request.stream {
        guard request.path == "/early" else {
          try http2.respond(to: request, with: .text("fine"))
          continue
        }
        var count = 0
        defer { received.record(count) }
        if arrival == .amid { try read(http2, stream, &count) { $0 >= Self.firstBytes } }
        try http2.connection.write(http2Frames(stream).flatMap(\.bytes))
        answered.record(1)
        if rest == .sent { try read(http2, stream, &count) { _ in false } }
        if shape == .streamed { try http2.write(.data("late".utf8, stream: stream, ends: true)) }
        // Reads until the client ends the stream.
        if rest == .stopped, !marks.contains(.reset) { try read(http2, stream, &count) { _ in false } }
      }
    }
  }

  private func http2Frames(_ stream: UInt32) -> [LoopbackHTTP2Frame] {
    let isWhole = shape == .whole
    var frames = [LoopbackHTTP2Frame.head(status, [:], stream: stream, ends: isWhole && !hasBody)]
    if hasBody { frames.append(.data("early".utf8, stream: stream, ends: isWhole)) }
    if marks.contains(.reset) { frames.append(.resetStream(.noError, stream: stream)) }
    return frames
  }

  /// Reads frames until `isEnough` returns true, or the client ends the stream.
  private func read(
    _ http2: LoopbackHTTP2Connection, _ stream: UInt32, _ count: inout Int, isEnough: (Int) -> Bool
  ) throws {
    while !isEnough(count), let frame = try http2.readFrame() {
      guard frame.stream == stream else { continue }
      if frame.kind == .data { count += frame.payload.count }
      if frame.kind == .resetStream || frame.kind == .data && frame.flags & 1 != 0 { return }
    }
  }
}
