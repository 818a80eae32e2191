// SPDX-License-Identifier: Apache-2.0

/// Reads the answer to one request out of the bytes of a connection, in whatever pieces they come: interim heads, the
/// head, the body, trailers, the end (RFC 9112).
///
/// The caller keeps the bytes. The reader tells what lies where, and keeps no more than a line that is not whole yet:
/// it searches every byte once, however small the pieces are. What lies behind the answer's end stays with the
/// caller.
///
/// ```swift
/// while true {
///   switch try reader.next(in: bytes, at: &position) {
///   case .needsMore: return  // the next bytes, from position 0
///   case .interim(let head), .head(let head): …
///   case .body(let count): body += bytes[position..<position + count]; reader.take(count); position += count
///   case .end: return  // bytes[position...] is not the answer's
///   }
/// }
/// ```
package struct ResponseReader: Sendable {
  /// What was asked: it decides where the answer ends (RFC 9112 §6.3).
  package enum Request: Sendable {
    case ordinary
    /// HEAD: the answer has no body, whatever its head says.
    case head
    /// CONNECT: a 2xx answer ends with its head, and a tunnel begins.
    case connect
    /// With `Upgrade`: a 101 answer is final and ends with its head, and the other protocol begins.
    case upgrade
  }

  package enum Event: Equatable, Sendable {
    /// Every byte is used: more of them are needed, or ``ResponseReader/finish()``.
    case needsMore
    /// Head of a 1xx answer. The final one is still to come.
    case interim(ResponseHead)
    /// Head of the final answer; ``ResponseReader/framing`` says how its body is delimited.
    case head(ResponseHead)
    /// So many bytes of the body lie at the position. ``ResponseReader/take(_:)`` has to be told how many were used.
    case body(Int)
    /// The answer has ended at the position.
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
  /// A line of the head that is not whole yet. It has no line end in it.
  private var line: [UInt8] = []
  private var bodyBytes = 0
  private var isPersistent = false
  /// Most bytes of the body; to be changed before the body is read, if at all. Default: as the limits have it.
  package var maximumBodyBytes: Int?
  /// Bytes that were looked at for the end of a line, so that a test can hold them against those that came.
  private(set) var searchedBytes = 0

  /// - Parameter latest: what was kept of the latest head of the same server. It changes no verdict, only what it
  ///   costs.
  package init(
    to request: Request = .ordinary, limits: ExchangeLimits = ExchangeLimits(), resembling latest: KnownHead? = nil
  ) {
    self.request = request
    self.limits = limits
    self.latest = latest
    maximumBodyBytes = limits.bodyBytes
    heads = ResponseHeadMachine(
      maximumHeadBytes: limits.headBytes, maximumFields: limits.fields,
      maximumInterimResponses: limits.interimResponses, request: request)
  }

  /// How the body is delimited; known once the head was given.
  package var framing: ResponseFraming { heads.framing }

  /// The fields behind the last chunk, once the answer has ended.
  package var trailers: [ResponseHead.Field] { body.trailers }

  /// Whether the head was given.
  package var hasHead: Bool { stage != .head }

  /// Whether the answer has ended.
  package var hasEnded: Bool { stage == .ended }

  /// Whether the server lets the connection carry another exchange (RFC 9112 §9.3). It may be used for one once the
  /// answer has ended, if the request was sent whole and nothing lies behind the answer.
  package var keepsConnection: Bool { isPersistent && hasEnded }

  /// Whether the server lets the connection carry another exchange once the answer has ended.
  package var mayKeepConnection: Bool { isPersistent }

  /// Whether the final head ended HTTP on this connection: 101, or 2xx to CONNECT. What follows is another
  /// protocol's.
  package private(set) var opensTunnel = false

  /// Whether only the end of the connection ends the body, and it has not come.
  package var endsWithConnection: Bool { stage == .body && body.mayEndHere && !body.isDone }

  /// How many bytes of the body are still to come, where the head said so.
  package var remainingBodyBytes: Int64? { body.remainingBytes }

  /// What may be kept of the final head, once: for the next reader of the same server's answers.
  package mutating func takeKnown() -> KnownHead? { heads.takeKnown() }

  /// Reads on from `position`.
  ///
  /// - Parameter now: in nanoseconds, for the rate of interim responses. Default 0: there is no clock, and only
  ///   progress counts.
  /// - Throws: ``HeadViolation``; the answer cannot be trusted then, and the reader is not to be used any more.
  package mutating func next(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, now: UInt64 = 0
  ) throws(HeadViolation) -> Event {
    switch stage {
    case .head: try readHead(bytes, &position, now)
    case .body: try readBody(bytes, &position)
    case .ended: .end
    }
  }

  /// Bytes of the request's body were sent: the server may send more interim responses.
  package mutating func sentBody(_ count: Int) { heads.sentBody(count) }

  /// So many bytes of the body that was found are used.
  package mutating func take(_ count: Int) {
    bodyBytes += count
    body.take(count)
  }

  /// The connection has ended: an answer that only its end delimits is whole then.
  ///
  /// - Throws: ``HeadViolation`` of kind `endsInHead` or `endsInBody` for any other that has not ended yet.
  package mutating func finish() throws(HeadViolation) {
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
        return try begin(head)
      }
      guard let end = lineEnd(in: bytes, from: position) else { break }
      let part = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
      position = end
      switch try take(lineEndingWith: part, now) {
      case .final(let head): return try begin(head)
      case .interim(let head): return .interim(head)
      case .needsMore, .trailers: break
      }
    }
    line += bytes[position...]
    position = bytes.count
    try line.withBytes { line throws(HeadViolation) in try heads.check(unfinishedLine: line) }
    return .needsMore
  }

  /// The position behind the next line end.
  private mutating func lineEnd(in bytes: UnsafeRawBufferPointer, from position: Int) -> Int? {
    let end = bytes.firstLineFeed(from: position).map { $0 + 1 }
    searchedBytes += (end ?? bytes.count) - position
    return end
  }

  private mutating func take(
    lineEndingWith part: UnsafeRawBufferPointer, _ now: UInt64
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

  private mutating func begin(_ head: ResponseHead) throws(HeadViolation) -> Event {
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
    if let limit = maximumBodyBytes, !body.isDone, let length = framing.contentLength, length > limit {
      throw .bodyTooLarge(limit, announced: length)
    }
    let found = try body.findBody(in: bytes, at: &position)
    if body.isDone {
      stage = .ended
      return .end
    }
    guard found > 0 else { return .needsMore }
    guard let limit = maximumBodyBytes else { return .body(found) }
    guard bodyBytes < limit else { throw .bodyTooLarge(limit) }
    return .body(min(found, limit - bodyBytes))
  }
}

extension HeadViolation {
  /// Ends of the connection before the answer's.
  package static let endsInHead = Self(.endsInHead, "the connection ended before a response came")
  package static let endsInBody = Self(.endsInBody, "the connection ended before the body did")

  /// A version that does not go with the connection.
  package static func wrongVersion(_ major: UInt8) -> Self {
    Self(.statusLine, "the response says HTTP/\(major) over an HTTP/1.1 connection")
  }

  /// A body that has more than `limit` bytes.
  package static func bodyTooLarge(_ limit: Int) -> Self {
    Self(.bodyTooLarge, "the body exceeds \(limit.counted("byte"))")
  }

  /// A body whose length, as the head tells it, is more than `limit` bytes.
  package static func bodyTooLarge(_ limit: Int, announced: Int64) -> Self {
    Self(.bodyTooLarge, "the server announces a body of \(announced.counted("byte")), and at most \(limit) are taken")
  }
}
