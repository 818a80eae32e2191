// SPDX-License-Identifier: Apache-2.0

/// Reads the response to one request from the bytes of a connection, in pieces of any size: interim heads, the head,
/// the body, trailers, and the end (RFC 9112).
///
/// The caller keeps the bytes. The reader reports positions, and stores only an incomplete line. It searches each byte
/// once, however small the pieces are. Bytes after the end of the response remain with the caller.
///
/// ```swift
/// while true {
///   switch try reader.next(in: bytes, at: &position) {
///   case .needsMore: return  // the next bytes, from position 0
///   case .interim(let head), .head(let head): …
///   case .body(let count): body += bytes[position..<position + count]; reader.markUsed(count); position += count
///   case .end: return  // bytes[position...] is not the answer's
///   }
/// }
/// ```
package struct ResponseReader: Sendable {
  /// The kind of request, which determines where the response ends (RFC 9112 §6.3).
  package enum Request: Sendable {
    case ordinary
    /// HEAD: the response has no body, regardless of its head.
    case head
    /// CONNECT: a 2xx response ends with its head, and a tunnel begins.
    case connect
    /// A request with `Upgrade`: a 101 response is final and ends with its head, and the other protocol begins.
    case upgrade
  }

  package enum Event: Equatable, Sendable {
    /// All bytes have been consumed. Supply more, or call ``ResponseReader/connectionEnded()``.
    case needsMore
    /// The head of an interim response. The final response follows.
    case interim(ResponseHead)
    /// The head of the final response. ``ResponseReader/framing`` describes how its body is delimited.
    case head(ResponseHead)
    /// The number of body bytes at the position. Call ``ResponseReader/markUsed(_:)`` with the number of bytes that
    /// were used.
    case body(Int)
    /// The response has ended at the position.
    case end
  }

  private enum Stage {
    case head
    case body
    case ended
  }

  private let request: Request
  private let limits: ExchangeLimits
  private let latest: KnownHead?
  private var stage = Stage.head
  private var heads: ResponseHeadMachine
  private var body = ResponseBodyMachine()
  /// An incomplete line of the head. It contains no line end.
  private var line: [UInt8] = []
  private var isPersistent = false
  /// The number of bytes that were searched for a line end, so that a test can compare it with the bytes received.
  private(set) var searchedBytes = 0

  /// Creates a reader.
  ///
  /// - Parameter latest: the same server's latest head. It does not affect the result, only the cost of parsing.
  package init(
    to request: Request = .ordinary, limits: ExchangeLimits = ExchangeLimits(), resembling latest: KnownHead? = nil
  ) {
    self.request = request
    self.limits = limits
    self.latest = latest
    heads = ResponseHeadMachine(
      maximumHeadBytes: limits.headBytes, maximumFields: limits.fields,
      maximumInterimResponses: limits.interimResponses, request: request)
  }

  /// The framing of the body. It is valid once the head was returned.
  package var framing: ResponseFraming { heads.framing }

  /// The trailers, once the response has ended.
  package var trailers: [ResponseHead.Field] { body.trailers }

  /// Whether the response has ended.
  package var hasEnded: Bool { stage == .ended }

  /// Whether the server lets the connection be reused (RFC 9112 §9.3). It may be reused once the response has ended, if
  /// the request was sent completely and no bytes follow the response.
  package var keepsConnection: Bool { isPersistent && hasEnded }

  /// Whether the server lets the connection be reused once the response has ended.
  package var mayKeepConnection: Bool { isPersistent }

  /// Whether the final head ended HTTP on this connection: 101, or 2xx to CONNECT. The following bytes belong to
  /// another protocol.
  package private(set) var opensTunnel = false

  /// Whether the body is delimited only by the end of the connection, which has not been reported.
  package var endsWithConnection: Bool { stage == .body && body.mayEndHere && !body.isDone }

  /// Returns the final head for the next reader of the same server's responses, once.
  package mutating func takeKnown() -> KnownHead? { heads.takeKnown() }

  /// Reads from `position` on.
  ///
  /// - Parameter now: in nanoseconds, for the rate of interim responses. Default 0: there is no clock, and only
  ///   progress counts.
  /// - Throws: ``HeadViolation``. The response cannot be trusted then, and the reader must not be used any more.
  package mutating func next(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, now: UInt64 = 0
  ) throws(HeadViolation) -> Event {
    switch stage {
    case .head: try readHead(bytes, &position, now)
    case .body: try readBody(bytes, &position)
    case .ended: .end
    }
  }

  /// Records that bytes of the request's body were sent, which entitles the server to more interim responses.
  package mutating func sentBody(_ count: Int) { heads.sentBody(count) }

  /// Marks bytes of the body as used.
  package mutating func markUsed(_ count: Int) { body.markUsed(count) }

  /// Records that the connection has ended. This completes a response that is delimited by the end of the connection.
  ///
  /// - Throws: ``HeadViolation`` of kind `endsInHead` or `endsInBody` for any other response that has not ended.
  package mutating func connectionEnded() throws(HeadViolation) {
    switch stage {
    case .head: throw .endsInHead
    case .body where !body.mayEndHere: throw .endsInBody
    case .body, .ended: stage = .ended
    }
  }

  // MARK: head

  private mutating func readHead(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ now: UInt64
  ) throws(HeadViolation) -> Event {
    while true {
      if let latest, line.isEmpty, let head = try heads.skip(in: bytes, at: &position, resembling: latest) {
        return try beginBody(after: head)
      }
      guard let end = lineEnd(in: bytes, from: position) else { break }
      let part = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
      position = end
      switch try consumeLine(endingWith: part, now) {
      case .final(let head): return try beginBody(after: head)
      case .interim(let head): return .interim(head)
      case .needsMore: break
      }
    }
    line += bytes[position...]
    position = bytes.count
    try line.withBytes { line throws(HeadViolation) in try heads.check(unfinishedLine: line) }
    return .needsMore
  }

  /// Returns the position after the next line end.
  private mutating func lineEnd(in bytes: UnsafeRawBufferPointer, from position: Int) -> Int? {
    let end = bytes.firstLineFeed(from: position).map { $0 + 1 }
    searchedBytes += (end ?? bytes.count) - position
    return end
  }

  private mutating func consumeLine(
    endingWith part: UnsafeRawBufferPointer, _ now: UInt64
  ) throws(HeadViolation) -> ResponseHeadMachine.Event {
    if line.isEmpty { return try heads.consume(line: part, resembling: latest, now: now) }
    var whole: [UInt8] = []
    swap(&whole, &line)
    whole += part
    let event = try whole.withBytes { bytes throws(HeadViolation) in
      try heads.consume(line: bytes, resembling: latest, now: now)
    }
    whole.removeAll(keepingCapacity: true)
    line = whole
    return event
  }

  private mutating func beginBody(after head: ResponseHead) throws(HeadViolation) -> Event {
    guard head.version.major == 1 else {
      throw .wrongVersion(head.version.major)
    }
    opensTunnel = head.status == 101 || request == .connect && (200..<300).contains(head.status)
    let hasNoBody = opensTunnel || request == .head || head.status == 204 || head.status == 304
    body = ResponseBodyMachine(
      framing, hasNoBody: hasNoBody, maximumTrailerBytes: limits.headBytes, maximumTrailerFields: limits.fields)
    isPersistent =
      !opensTunnel && !framing.announcesMissingBody && (heads.known?.isPersistent ?? head.isPersistent)
      && (!body.mayEndHere || body.isDone)
    stage = .body
    return .head(head)
  }

  // MARK: body

  private mutating func readBody(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int
  ) throws(HeadViolation) -> Event {
    let found = try body.findBody(in: bytes, at: &position)
    if body.isDone {
      stage = .ended
      return .end
    }
    return found > 0 ? .body(found) : .needsMore
  }
}

extension HeadViolation {
  /// The connection ended before the response did.
  package static var endsInHead: Self { Self(.endsInHead, "the connection ended before a response came") }
  package static var endsInBody: Self { Self(.endsInBody, "the connection ended before the body did") }

  /// Returns the violation for a version that does not match the connection.
  package static func wrongVersion(_ major: UInt8) -> Self {
    Self(.statusLine, "the response says HTTP/\(major) over an HTTP/1.1 connection")
  }
}

extension ResponseReader {
  /// Reads up to the head of the final response, and skips interim ones. Returns `nil` if the head is still incomplete.
  package mutating func head(
    in bytes: [UInt8], at position: inout Int
  ) throws(HeadViolation) -> ResponseHead? {
    try bytes.withBytes { bytes throws(HeadViolation) in
      while true {
        switch try next(in: bytes, at: &position) {
        case .head(let head): return head
        case .interim: break
        case .needsMore, .body, .end: return nil
        }
      }
    }
  }
}
