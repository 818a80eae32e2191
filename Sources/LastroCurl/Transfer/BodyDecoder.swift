// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Where the bytes of a body go when nothing is around them any more.
protocol BodySink: AnyObject {
  /// Whether a piece would be taken. If not, libcurl is to be told to wait.
  func hasRoom() -> Bool

  /// Gives the count of the bytes, or what else to answer libcurl with.
  func deliver(_ bytes: UnsafeRawBufferPointer) -> Int
}

/// Undoes chunks and content codings of one body, between libcurl and the transfer's sink. libcurl undoes neither: it
/// hands over what came.
///
/// Memory: what a ``ContentDecoder`` holds, and one piece of 32 KiB while libcurl calls.
struct BodyDecoder {
  /// What became of bytes.
  enum Verdict {
    case taken
    /// The reader is slow: libcurl keeps the bytes and hands them over again, perhaps in other pieces.
    case full
    /// The sink wants no more.
    case refused
  }

  private static let pieceBytes = 32 * 1024

  /// Most bytes for each that came, and from where on; only streams need it, as what is collected has its limit anyway.
  private let expansion: (ratio: Int, floor: Int64)?
  private var chunks: ResponseBodyMachine?
  private let coding: ContentDecoder?
  /// Whether bytes came behind the last chunk and its trailers.
  private(set) var hasExcess = false
  /// Bytes that libcurl hands over again and that are used already.
  private var used = 0
  /// Whether the decoder may have more to give for what it has taken.
  private var hasPending = false
  private var coded: Int64 = 0
  private var decoded: Int64 = 0

  /// - Returns: `nil` where the body is what libcurl hands over.
  /// - Throws: `response/bad_content_encoding` for codings that are not undone.
  static func make(
    _ head: ResponseHead, _ framing: ResponseFraming, for transfer: Transfer
  ) throws(TransportError) -> BodyDecoder? {
    // Before all else: most bodies are neither.
    guard framing.isChunked || framing.hasContentEncoding else { return nil }
    guard head.status != 204, head.status != 304, transfer.job.request.head.method != .head else { return nil }
    var codings: [ContentCoding] = []
    if framing.hasContentEncoding, framing.contentLength != 0, transfer.expandsBody {
      codings = ContentCoding.list(of: head)
      try check(codings, limits: transfer.limits)
    }
    guard framing.isChunked || !codings.isEmpty else { return nil }
    let isStream = if case .stream = transfer.sink { true } else { false }
    return BodyDecoder(framing, codings, limits: transfer.limits, isStream: isStream)
  }

  init(_ framing: ResponseFraming, _ codings: [ContentCoding], limits: TransferLimits, isStream: Bool) {
    expansion = isStream ? (limits.decompressionRatio, limits.decompressionFloor) : nil
    if framing.isChunked {
      chunks = ResponseBodyMachine(
        framing, maximumTrailerBytes: limits.headBytes, maximumTrailerFields: limits.headFields)
    }
    coding = ContentDecoder.make(codings)
  }

  private static func check(_ codings: [ContentCoding], limits: TransferLimits) throws(TransportError) {
    guard codings.count <= limits.contentCodings else {
      throw .tooManyContentCodings(codings.count, limit: limits.contentCodings)
    }
    for case .other(let name) in codings { throw .unknownContentCoding(name) }
  }

  /// Takes what libcurl hands over, to `sink`.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, for sink: some BodySink) throws(TransportError) -> Verdict {
    let repeated = used
    var position = min(repeated, bytes.count)
    var verdict = hasPending ? try decode(UnsafeRawBufferPointer(start: nil, count: 0), for: sink).verdict : .taken
    while verdict == .taken, position < bytes.count {
      let count = try findBody(in: bytes, at: &position)
      if count == 0 { break }
      let part = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
      let step = try coding == nil ? pass(part, to: sink) : decode(part, for: sink)
      chunks?.take(step.consumed)
      position += step.consumed
      verdict = step.verdict
    }
    hasExcess = position < bytes.count && chunks?.isDone == true
    used = verdict == .full ? max(repeated, position) : max(0, repeated - bytes.count)
    return verdict
  }

  /// The body has ended, as libcurl sees it.
  func end() throws(TransportError) {
    if let chunks, !chunks.isDone { throw .truncatedBody("the connection ended before the last chunk") }
    do {
      try coding?.end()
    } catch {
      throw error.transportError
    }
  }

  private mutating func findBody(
    in bytes: UnsafeRawBufferPointer, at position: inout Int
  ) throws(TransportError) -> Int {
    if chunks == nil { return bytes.count - position }
    do {
      return try chunks?.findBody(in: bytes, at: &position) ?? 0
    } catch {
      throw error.transportError
    }
  }

  private typealias Step = (consumed: Int, verdict: Verdict)

  private func pass(_ bytes: UnsafeRawBufferPointer, to sink: some BodySink) -> Step {
    switch sink.deliver(bytes) {
    case bytes.count: (bytes.count, .taken)
    case Int(CURL_WRITEFUNC_PAUSE): (0, .full)
    default: (0, .refused)
    }
  }

  private mutating func decode(_ bytes: UnsafeRawBufferPointer, for sink: some BodySink) throws(TransportError) -> Step
  {
    guard let coding else { return (0, .taken) }
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
    defer { space.deallocate() }
    hasPending = false
    var consumed = 0
    while sink.hasRoom() {
      let count = try decodePiece(UnsafeRawBufferPointer(rebasing: bytes[consumed...]), coding, into: space, &consumed)
      if count == 0 { return (consumed, .taken) }
      guard sink.deliver(UnsafeRawBufferPointer(rebasing: space[..<count])) == count else {
        return (consumed, .refused)
      }
    }
    hasPending = true
    return (consumed, .full)
  }

  private mutating func decodePiece(
    _ bytes: UnsafeRawBufferPointer, _ coding: ContentDecoder, into space: UnsafeMutableRawBufferPointer,
    _ consumed: inout Int
  ) throws(TransportError) -> Int {
    let progress: InflateMachine.Progress
    do {
      progress = try coding.decode(bytes, into: space)
    } catch {
      throw error.transportError
    }
    consumed += progress.consumed
    coded += Int64(progress.consumed)
    decoded += Int64(progress.produced)
    if let expansion, decoded > expansion.floor, decoded / max(1, coded) > Int64(expansion.ratio) {
      throw .decompressionBomb(ratio: expansion.ratio, delivered: decoded)
    }
    return progress.produced
  }
}

extension Transfer: BodySink {
  func hasRoom() -> Bool {
    guard case .stream = sink, let body = job.body, !body.hasRoom() else { return true }
    receivingPaused = true
    return false
  }

  /// A piece of a body that is chunked or compressed. Gives the count to answer libcurl with.
  func decode(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> Int {
    let verdict = try decoder?.receive(bytes, for: self)
    // libcurl drops them and would keep the connection, on which more of them may come.
    if decoder?.hasExcess == true { easy.set(CURLOPT_FORBID_REUSE, 1) }
    return switch verdict {
    case .taken: bytes.count
    case .full: Int(CURL_WRITEFUNC_PAUSE)
    case .refused, nil: 0
    }
  }

  /// Whether the request asks for content codings on the caller's behalf. Who names `Accept-Encoding` or `Range` gets bytes as
  /// sent.
  var expandsBody: Bool { limits.decompresses && job.request.head.headerFields.leaveCodingToUs }
}

extension TransportError {
  fileprivate static func tooManyContentCodings(_ count: Int, limit: Int) -> TransportError {
    TransportError(
      stage: .response, code: .badContentEncoding,
      message: "the body has \(count) content codings, one upon the other; at most \(limit) may be undone",
      hint: "raise CurlConfiguration.maximumContentCodings if the server is trusted", requestSent: true)
  }

  fileprivate static func unknownContentCoding(_ name: String) -> TransportError {
    TransportError(
      stage: .response, code: .badContentEncoding,
      message: "the body has the content coding \"\(name.prefix(40))\", which was not asked for (only "
        + "\(ContentCoding.offer))",
      hint: "set Accept-Encoding yourself to get the bytes as they are sent, and undo the coding yourself",
      requestSent: true)
  }

  fileprivate static func truncatedBody(_ message: String) -> TransportError {
    TransportError(stage: .response, code: .truncatedBody, message: message, requestSent: true)
  }
}

extension CodingViolation {
  /// The response's fault, as the pipeline tells it.
  fileprivate var transportError: TransportError {
    let code: FailureCode =
      switch kind {
      case .truncated: .truncatedBody
      case .corrupt, .trailing, .wasteful: .badContentEncoding
      case .memory: .engineFailure
      }
    return TransportError(stage: .response, code: code, message: message, requestSent: true)
  }
}
