// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Lastro

/// Splits the bytes of one direction of an HTTP/2 connection into frames, and decodes their header blocks.
///
/// It reads every frame from the beginning of the connection on, because header blocks refer to earlier ones. It reports
/// what nghttp2 reads too, and judges nothing.
final class HTTP2FrameReader {
  enum Part {
    case head(FramePiece.Head)
    /// Bytes of the payload. For DATA, padding is among them.
    case payload(UnsafeRawBufferPointer)
    /// Fields of a header block, and whether the block is not valid HPACK behind them.
    case fields([FramePiece.Field], isInvalid: Bool)
    case end
  }

  private static let headBytes = 9
  private static let prefaceBytes = 24
  /// The bytes of a priority (RFC 9113 §6.2).
  private static let priorityBytes = 5

  /// The bytes of the client's preface that are left.
  private var preface: Int
  /// The bytes of a frame's head so far.
  private var start: [UInt8] = []
  private var head = FramePiece.Head(type: 0, flags: 0, stream: 0, length: 0)
  /// The bytes of the payload that are left.
  private var rest = 0
  /// The bytes before a header block: the length of its padding, and its priority.
  private var front: [UInt8] = []
  private var frontCount = 0
  /// The bytes of padding behind the header block.
  private var padding = 0
  private let inflater: OpaquePointer?
  private var isBroken = false

  init(ofClient: Bool) {
    preface = ofClient ? Self.prefaceBytes : 0
    var made: OpaquePointer?
    inflater = nghttp2_hd_inflate_new(&made) == 0 ? made : nil
  }

  deinit { nghttp2_hd_inflate_del(inflater) }

  private var isBlock: Bool {
    head.type == HTTP2FrameType.headers.rawValue || head.type == HTTP2FrameType.continuation.rawValue
  }

  /// Reads bytes, and reports the parts of their frames in order.
  func read(_ bytes: UnsafeRawBufferPointer, _ report: (Part) -> Void) {
    var bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(preface))
    preface -= min(preface, bytes.count)
    while !bytes.isEmpty {
      if rest == 0 {
        let count = min(Self.headBytes - start.count, bytes.count)
        start += bytes.prefix(count)
        bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
        guard start.count == Self.headBytes else { return }
        begin(report)
        if rest == 0 { end(report) }
        continue
      }
      let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(rest))
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(part.count))
      rest -= part.count
      if isBlock { readBlock(part, report) } else { report(.payload(part)) }
      if rest == 0 { end(report) }
    }
  }

  private func begin(_ report: (Part) -> Void) {
    let number = start[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    rest = start[..<3].reduce(0) { $0 << 8 | Int($1) }
    head = FramePiece.Head(type: start[3], flags: start[4], stream: Int32(bitPattern: number), length: rest)
    start = []
    (front, frontCount, padding) = ([], 0, 0)
    if head.type == HTTP2FrameType.headers.rawValue {
      if has(NGHTTP2_FLAG_PADDED) { frontCount = 1 }
      if has(NGHTTP2_FLAG_PRIORITY) { frontCount += Self.priorityBytes }
      // A frame that is too short for them is reported as it is.
      if frontCount > rest { frontCount = 0 }
    }
    if frontCount == 0 { report(.head(isBlock ? plainHead : head)) }
  }

  private func has(_ flag: nghttp2_flag) -> Bool { UInt32(head.flags) & flag.rawValue != 0 }

  /// The head of the frame without padding and priority.
  private var plainHead: FramePiece.Head {
    var plain = head
    if head.type == HTTP2FrameType.headers.rawValue {
      plain.flags &= ~UInt8(NGHTTP2_FLAG_PADDED.rawValue | NGHTTP2_FLAG_PRIORITY.rawValue)
    }
    return plain
  }

  private func readBlock(_ bytes: UnsafeRawBufferPointer, _ report: (Part) -> Void) {
    var bytes = bytes
    if front.count < frontCount {
      let count = min(frontCount - front.count, bytes.count)
      front += bytes.prefix(count)
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
      guard front.count == frontCount else { return }
      if has(NGHTTP2_FLAG_PADDED), let length = front.first { padding = Int(length) }
      guard frontCount + padding <= head.length else { return reportExcessivePadding(report) }
      report(.head(plainHead))
    }
    guard !hasExcessivePadding else { return }
    let isLast = rest <= padding && has(NGHTTP2_FLAG_END_HEADERS)
    let excess = min(bytes.count, max(0, padding - rest))
    let block = UnsafeRawBufferPointer(rebasing: bytes.dropLast(excess))
    let (fields, isInvalid) = inflate(block, isFinal: isLast && !(block.isEmpty && rest < padding))
    report(.fields(fields, isInvalid: isInvalid))
  }

  private var hasExcessivePadding: Bool { frontCount + padding > head.length }

  /// Reports a frame with more padding than payload, which ends the connection, as one of a single byte.
  private func reportExcessivePadding(_ report: (Part) -> Void) {
    isBroken = true
    var short = head
    short.flags &= ~UInt8(NGHTTP2_FLAG_PRIORITY.rawValue)
    short.length = 1
    report(.head(short))
    withUnsafeBytes(of: UInt8.max) { report(.payload($0)) }
  }

  private func end(_ report: (Part) -> Void) {
    if isBlock, head.length == 0, has(NGHTTP2_FLAG_END_HEADERS) {
      let (fields, isInvalid) = inflate(UnsafeRawBufferPointer(start: nil, count: 0), isFinal: true)
      report(.fields(fields, isInvalid: isInvalid))
    }
    report(.end)
  }

  /// Decodes a part of a header block.
  private func inflate(
    _ bytes: UnsafeRawBufferPointer, isFinal: Bool
  ) -> (fields: [FramePiece.Field], isInvalid: Bool) {
    guard let inflater, !isBroken else { return ([], true) }
    var fields: [FramePiece.Field] = []
    var none: UInt8 = 0
    var rest = bytes
    while true {
      var pair = nghttp2_nv()
      var flags: Int32 = 0
      let count = rest.count
      let used = withUnsafePointer(to: &none) { none in
        nghttp2_hd_inflate_hd2(
          inflater, &pair, &flags, rest.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? none, count,
          isFinal ? 1 : 0)
      }
      guard used >= 0 else {
        isBroken = true
        return (fields, true)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(used))
      let emits = UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0
      if emits {
        fields.append(
          .init(
            name: Array(UnsafeBufferPointer(start: pair.name, count: pair.namelen)),
            value: Array(UnsafeBufferPointer(start: pair.value, count: pair.valuelen))))
      }
      if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return (fields, false)
      }
      if !emits, rest.isEmpty { return (fields, false) }
    }
  }
}
