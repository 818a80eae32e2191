// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2

/// The frames that nghttp2 makes, on their way into buffers that are written to the connection.
///
/// It is a class because nghttp2 calls back, and the callbacks add DATA frames, while a buffer is being filled.
final class HTTP2Output {
  /// The maximum plaintext size of a TLS record (RFC 8446 §5.1).
  static let recordBytes = 16_384
  private static let frameHeadBytes = 9
  /// The smallest payload of a DATA frame that is made to fill the remaining room, unless nothing has been written yet.
  private static let leastPieceBytes = 1_024

  /// nghttp2's session.
  private let session: OpaquePointer
  private var space = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var written = 0
  private var endsWithFrame = false
  /// A frame, or the rest of a frame, that did not fit into the buffer. nghttp2 keeps its memory until the next frame
  /// is requested.
  private var held = UnsafeRawBufferPointer(start: nil, count: 0)
  private var hasBegunHeld = false
  /// The frames of a head that was split again, and the offset of the next one.
  private var split: [UInt8] = []
  private var nextSplit = 0

  init(_ session: OpaquePointer) { self.session = session }

  /// Whether all frames that nghttp2 has made were written.
  var isEmpty: Bool { held.isEmpty && split.isEmpty }

  /// Fills a buffer until it is full or no output is left, and returns the number of bytes; `nil` if nghttp2 fails.
  ///
  /// - Parameter endsWithFrame: whether the last frame must be complete and no frame larger than a TLS record, if the
  ///   buffer is not larger than a record either. Pass the same value in every call.
  func fill(_ space: UnsafeMutableRawBufferPointer, endsWithFrame: Bool) -> Int? {
    (self.space, self.endsWithFrame) = (space, endsWithFrame)
    written = 0
    writeHeld()
    while held.isEmpty, writeSplit() {
      var next: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &next)
      if count < 0 { return nil }
      guard count > 0, let next else { break }
      let frame = UnsafeRawBufferPointer(start: next, count: count)
      if endsWithFrame, count > Self.recordBytes, frame[3] == HTTP2FrameType.headers.rawValue {
        guard splitHead(frame) else { return nil }
      } else {
        (held, hasBegunHeld) = (frame, false)
        writeHeld()
      }
    }
    return written
  }

  // MARK: DATA, within calls to nghttp2

  /// Returns how much of a piece of `most` bytes a DATA frame may have now; `nil` if the room is too small.
  ///
  /// If nothing has been written, one byte of payload is enough. Otherwise a small buffer would block the body forever.
  func roomForPiece(_ most: Int) -> Int? {
    let room = space.count - written - Self.frameHeadBytes
    return room < (written > 0 ? Self.leastPieceBytes : 1) ? nil : min(room, most)
  }

  /// Writes the head of a DATA frame, and returns the memory for its payload.
  func beginPiece(_ head: UnsafePointer<UInt8>, _ count: Int) -> UnsafeMutableRawBufferPointer {
    write(UnsafeRawBufferPointer(start: head, count: Self.frameHeadBytes))
    return reserve(count)
  }

  // MARK: Other frames

  private func reserve(_ count: Int) -> UnsafeMutableRawBufferPointer {
    defer { written += count }
    return UnsafeMutableRawBufferPointer(rebasing: space[written..<written + count])
  }

  private func write(_ bytes: UnsafeRawBufferPointer) { reserve(bytes.count).copyMemory(from: bytes) }

  /// Writes as much of the held frame as fits.
  private func writeHeld() {
    let count = min(held.count, space.count - written)
    let isCut = !hasBegunHeld && count < held.count
    if count == 0 || isCut && endsWithFrame && held.count <= Self.recordBytes { return }
    hasBegunHeld = true
    write(UnsafeRawBufferPointer(rebasing: held.prefix(count)))
    held = UnsafeRawBufferPointer(rebasing: held.dropFirst(count))
  }

  /// Writes as many frames of a split head as fit. Returns whether none is left.
  private func writeSplit() -> Bool {
    while nextSplit < split.count {
      let payload = Int(split[nextSplit]) << 16 | Int(split[nextSplit + 1]) << 8 | Int(split[nextSplit + 2])
      let end = nextSplit + Self.frameHeadBytes + payload
      guard end - nextSplit <= space.count - written else { return false }
      split.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[nextSplit..<end])) }
      nextSplit = end
    }
    (split, nextSplit) = ([], 0)
    return true
  }

  /// Splits a head whose first frame is larger than a TLS record into frames that fit into a record. A record must also
  /// hold the frame's header, but nghttp2 fills frames with up to 16,384 bytes besides it.
  ///
  /// - Returns: false if nghttp2 fails.
  private func splitHead(_ first: UnsafeRawBufferPointer) -> Bool {
    let head = Array(first.prefix(Self.frameHeadBytes))
    guard let block = fieldBlock(from: first) else { return false }
    let most = Self.recordBytes - Self.frameHeadBytes, ends = UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue)
    for start in stride(from: 0, to: block.count, by: most) {
      let piece = block[start..<min(start + most, block.count)]
      let type = start == 0 ? HTTP2FrameType.headers : .continuation
      let flags = (start == 0 ? head[4] & ~ends : 0) | (piece.endIndex == block.count ? ends : 0)
      split += [0, UInt8(piece.count >> 8), UInt8(piece.count & 0xFF), type.rawValue, flags]
      split += head[5...]
      split += piece
    }
    return true
  }

  /// Collects the field block of a head, of which nghttp2 has returned the first frame.
  private func fieldBlock(from first: UnsafeRawBufferPointer) -> [UInt8]? {
    var frame = first
    var block = Array(frame.dropFirst(Self.frameHeadBytes))
    while UInt32(frame[4]) & NGHTTP2_FLAG_END_HEADERS.rawValue == 0 {
      var next: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &next)
      guard let next, count >= Self.frameHeadBytes else { return nil }
      frame = UnsafeRawBufferPointer(start: next, count: count)
      block += frame.dropFirst(Self.frameHeadBytes)
    }
    return block
  }
}
