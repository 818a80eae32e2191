// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

/// The receiver of a body's decoded bytes.
package protocol BodySink: AnyObject {
  /// Returns whether a piece would be accepted. If not, the exchange waits until the reader resumes it.
  func hasRoom() -> Bool

  func deliver(_ bytes: UnsafeRawBufferPointer) -> BodyVerdict

  /// The time at which the bytes arrived, in nanoseconds, for measuring rates; 0 if there is no clock.
  var receivedAt: UInt64 { get }
}

extension BodySink {
  package var receivedAt: UInt64 { 0 }
}

/// The outcome of delivering bytes of a body.
package enum BodyVerdict {
  case taken
  /// The reader is slow. The exchange keeps the bytes and passes them again, perhaps in other pieces.
  case full
  /// The sink wants no more.
  case refused
}

/// Decodes the content codings of one body, between the exchange and the sink.
///
/// Memory: that of a ``ContentDecoder``, and a piece of 32 KiB during each call.
package struct BodyDecoder {
  private static let pieceBytes = 32 * 1024

  /// The maximum ratio of decoded to received bytes, and the number of decoded bytes from which on it applies; `nil`
  /// unless the body goes to a stream. Collected bodies have a limit of their own.
  private let expansion: (ratio: Int, floor: Int64)?
  private let coding: ContentDecoder
  /// The number of bytes that the exchange will pass again and that were decoded already.
  private var used = 0
  /// Whether the decoder may have more output from the bytes that it has consumed.
  private var hasPending = false
  private var coded: Int64 = 0
  private var decoded: Int64 = 0

  /// Returns a decoder for a response; `nil` if its body has no coding to decode.
  ///
  /// - Parameters:
  ///   - expands: whether we asked for content codings.
  ///   - isStream: whether the body goes to a stream, which has no limit of its own.
  /// - Throws: `response/bad_content_encoding` if the body has unknown codings, or more than `limits` allows.
  package static func make(
    _ head: ResponseHead, _ framing: ResponseFraming, to method: @autoclosure () -> HTTPRequest.Method,
    expands: @autoclosure () -> Bool, isStream: @autoclosure () -> Bool,
    limits: @autoclosure () -> DecodingLimits
  ) throws(TransportError) -> BodyDecoder? {
    // This check comes first, because most bodies have no coding.
    guard framing.hasContentEncoding, framing.contentLength != 0 else { return nil }
    guard head.status != 204, head.status != 304, method() != .head, expands() else { return nil }
    let codings = ContentCoding.list(of: head)
    try check(codings, limits: limits())
    return BodyDecoder(codings, limits: limits(), isStream: isStream())
  }

  /// Creates a decoder; returns `nil` if there is nothing to decode.
  package init?(_ codings: [ContentCoding], limits: DecodingLimits, isStream: Bool) {
    guard let coding = ContentDecoder.make(codings) else { return nil }
    self.coding = coding
    expansion = isStream ? (limits.ratio, limits.floor) : nil
  }

  private static func check(_ codings: [ContentCoding], limits: DecodingLimits) throws(TransportError) {
    guard codings.count <= limits.codings else {
      throw .tooManyContentCodings(codings.count, limit: limits.codings)
    }
    for case .other(let name) in codings { throw .unknownContentCoding(name) }
  }

  /// Decodes received bytes, and delivers the result to `sink`. After `.full`, the same bytes must be passed again.
  package mutating func receive(
    _ bytes: UnsafeRawBufferPointer, for sink: some BodySink
  ) throws(TransportError) -> BodyVerdict {
    let repeated = used
    var position = min(repeated, bytes.count)
    var verdict = hasPending ? try decode(UnsafeRawBufferPointer(start: nil, count: 0), for: sink).verdict : .taken
    while verdict == .taken, position < bytes.count {
      let step = try decode(UnsafeRawBufferPointer(rebasing: bytes[position...]), for: sink)
      position += step.consumed
      verdict = step.verdict
    }
    used = verdict == .full ? max(repeated, position) : max(0, repeated - bytes.count)
    return verdict
  }

  /// Checks that the coded data is complete, once the body has ended.
  package func end() throws(TransportError) {
    do {
      try coding.end()
    } catch {
      throw error.transportError
    }
  }

  private typealias Step = (consumed: Int, verdict: BodyVerdict)

  private mutating func decode(_ bytes: UnsafeRawBufferPointer, for sink: some BodySink) throws(TransportError) -> Step
  {
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
    defer { space.deallocate() }
    hasPending = false
    var consumed = 0
    while sink.hasRoom() {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[consumed...])
      let count = try decodePiece(rest, into: space, &consumed, now: sink.receivedAt)
      if count == 0 { return (consumed, .taken) }
      guard sink.deliver(UnsafeRawBufferPointer(rebasing: space[..<count])) == .taken else {
        return (consumed, .refused)
      }
    }
    hasPending = true
    return (consumed, .full)
  }

  private mutating func decodePiece(
    _ bytes: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer,
    _ consumed: inout Int, now: UInt64
  ) throws(TransportError) -> Int {
    let progress: InflateMachine.Progress
    do {
      progress = try coding.decode(bytes, into: space, now: now)
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

extension TransportError {
  package static func tooManyContentCodings(_ count: Int, limit: Int) -> TransportError {
    TransportError(
      stage: .response, code: .badContentEncoding,
      message:
        "the body has \(count.counted("content coding")), applied one after another; at most \(limit) may be decoded",
      hint: "raise maximumContentCodings if the server is trusted", requestSent: true)
  }

  package static func unknownContentCoding(_ name: String) -> TransportError {
    TransportError(
      stage: .response, code: .badContentEncoding,
      message: "the body has the content coding \"\(name.prefix(40))\", which was not asked for (only "
        + "\(ContentCoding.offer))",
      hint: "set Accept-Encoding yourself to get the bytes as they are sent, and decode them yourself",
      requestSent: true)
  }

}

extension CodingViolation {
  /// The violation as the error that the pipeline reports, at the stage `response`.
  package var transportError: TransportError {
    let code: FailureCode =
      switch kind {
      case .truncated: .truncatedBody
      case .corrupt, .trailing, .wasteful: .badContentEncoding
      case .memory: .engineFailure
      }
    let hint =
      switch kind {
      case .truncated: TransportError.cutHint
      case .memory: "stream the body, or raise the memory of the process"
      default: "report it to the server's owner; with your own Accept-Encoding the bytes arrive as they are sent"
      }
    return TransportError(stage: .response, code: code, message: message, hint: hint, requestSent: true)
  }
}
