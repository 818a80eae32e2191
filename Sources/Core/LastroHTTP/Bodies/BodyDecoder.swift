// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

/// The receiver of a body's decoded bytes.
package protocol BodySink: AnyObject {
  /// Returns whether a piece would be accepted. If not, the exchange waits until the reader resumes it.
  func hasRoom() -> Bool

  /// Receives a piece.
  ///
  /// - Throws: the reason why the body cannot be accepted.
  func deliver(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict

  /// The time at which the bytes arrived, in nanoseconds, for measuring rates.
  var receivedAt: UInt64 { get }
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

  /// Creates a decoder; returns `nil` if there is nothing to decode.
  ///
  /// - Parameters:
  ///   - names: the codings of the body, in the order in which they were applied.
  ///   - accepted: the codings that were asked for.
  ///   - isStream: whether the body goes to a stream, which has no limit of its own.
  /// - Throws: `response/bad_content_encoding` if there are unknown codings, or more than `limits` allows.
  package init?(
    _ names: [String], accepted: [ContentCoding], limits: DecodingLimits, isStream: Bool
  ) throws(TransportError) {
    guard names.count <= limits.codings else {
      throw .tooManyContentCodings(names.count, limit: limits.codings)
    }
    let memory = limits.memory ?? DecodingMemory(limit: .max)
    let decoders = try names.map { name throws(TransportError) in
      guard let coding = accepted.first(where: { $0.name == name || $0.alias == name }) else {
        throw .unknownContentCoding(name, accepted: accepted.map(\.name))
      }
      return coding.makeDecoder(memory)
    }
    guard let coding = ContentDecoder.chain(decoders) else { return nil }
    self.coding = coding
    expansion = isStream ? (limits.ratio, limits.floor) : nil
  }

  /// Decodes received bytes, and delivers the result to `sink`. After `.full`, the same bytes must be passed again.
  package mutating func receive(
    _ bytes: UnsafeRawBufferPointer, for sink: some BodySink
  ) throws(TransportError) -> BodyVerdict {
    let repeated = used
    var position = min(repeated, bytes.count)
    let verdict = hasPending || position < bytes.count ? try decode(bytes, from: &position, for: sink) : .taken
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

  /// Decodes the bytes from `position` on. If the sink takes everything, all of them are consumed.
  private mutating func decode(
    _ bytes: UnsafeRawBufferPointer, from position: inout Int, for sink: some BodySink
  ) throws(TransportError) -> BodyVerdict {
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
    defer { space.deallocate() }
    hasPending = false
    while sink.hasRoom() {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
      let progress: CodingProgress
      do {
        progress = try coding.decode(rest, into: space, now: sink.receivedAt)
      } catch {
        throw error.transportError
      }
      position += progress.consumed
      coded += Int64(progress.consumed)
      decoded += Int64(progress.produced)
      if let expansion, decoded > expansion.floor, decoded / max(1, coded) > Int64(expansion.ratio) {
        throw .decompressionBomb(ratio: expansion.ratio, delivered: decoded)
      }
      if progress.produced == 0 { return .taken }
      guard try sink.deliver(UnsafeRawBufferPointer(rebasing: space[..<progress.produced])) == .taken else {
        return .refused
      }
    }
    hasPending = true
    return .full
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

  package static func unknownContentCoding(_ name: String, accepted: [String]) -> TransportError {
    TransportError(
      stage: .response, code: .badContentEncoding,
      message: "the body has the content coding \"\(name.prefix(40))\", which was not asked for (only "
        + "\(accepted.joined(separator: ", ")))",
      hint: "add the coding to those of the engine, or set Accept-Encoding yourself to get the bytes as they are sent",
      requestSent: true)
  }
}

extension CodingViolation {
  /// The violation as the error that the pipeline reports, at the stage `response` or `limit`.
  package var transportError: TransportError {
    let code: FailureCode =
      switch kind {
      case .truncated: .truncatedBody
      case .corrupt, .trailing, .wasteful, .largeWindow: .badContentEncoding
      case .windows: .decodingMemoryFull
      case .memory: .engineFailure
      }
    let hint =
      switch kind {
      case .truncated: TransportError.cutHint
      case .memory: "stream the body, or raise the memory of the process"
      case .windows: "raise maximumWindowBytes, receive fewer bodies at once, or ask for gzip only"
      default: "report it to the server's owner; with your own Accept-Encoding the bytes arrive as they are sent"
      }
    return TransportError(
      stage: kind == .windows ? .limit : .response, code: code, message: message, hint: hint, requestSent: true)
  }
}
