// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Scanner of HTTP/2 frame headers")
struct HTTP2FrameScannerTests {
  private static let frames: [WireFrame] = [
    .settings([(4, 1)]), .data([], on: 1), .data([UInt8](repeating: 9, count: 300), on: 0x7FFF_FFFF),
    WireFrame(type: 0x42, stream: 5, payload: [1]), .windowUpdate(1, on: 0), .ping(),
    WireFrame(type: 9, stream: 3, payload: [UInt8](repeating: 0, count: 70_000)), .goAway(last: 7),
  ]

  private func scan(_ parts: [ArraySlice<UInt8>]) -> (heads: [String], starts: [Int]) {
    var scanner = HTTP2FrameScanner()
    var result: (heads: [String], starts: [Int]) = ([], [])
    var offset = 0
    for part in parts {
      Array(part).withUnsafeBytes { bytes in
        var position = 0
        while let head = scanner.next(bytes, from: &position) {
          result.heads.append("\(head.type.map { "\($0)" } ?? "other") \(head.stream) \(head.length)")
          result.starts.append(offset + head.start)
        }
        #expect(position == bytes.count)
      }
      offset += part.count
    }
    return result
  }

  private static let heads = [
    "settings 0 6", "data 1 0", "data 2147483647 300", "other 5 1", "windowUpdate 0 4", "ping 0 8",
    "continuation 3 70000", "goAway 0 8",
  ]

  @Test("Frame headers in one buffer are found, with their positions")
  func whole() {
    let bytes = Self.frames.flatMap(\.bytes)
    let found = scan([bytes[...]])
    #expect(found.heads == Self.heads)
    var start = 0
    for (frame, found) in zip(Self.frames, found.starts) {
      #expect(found == start)
      start += frame.bytes.count
    }
  }

  @Test("Frame headers are found byte by byte and when split at any byte")
  func parts() {
    let bytes = Self.frames.flatMap(\.bytes)
    #expect(scan(bytes.indices.map { bytes[$0...$0] }).heads == Self.heads)
    for split in bytes.indices where split < 400 || split % 101 == 0 || split > bytes.count - 40 {
      #expect(scan([bytes[..<split], bytes[split...]]).heads == Self.heads, "\(split)")
    }
  }
}

/// A frame as it is sent, valid or not.
struct WireFrame: Equatable {
  var type: UInt8
  var flags: UInt8 = 0
  var stream: Int32 = 0
  var payload: [UInt8] = []

  static let endStream: UInt8 = 0x1
  static let ack: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8

  var ends: Bool { flags & Self.endStream != 0 }
  /// The first four bytes of the payload, such as a code or an increment.
  var number: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

  var bytes: [UInt8] {
    let count = payload.count
    return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
      + Self.bytes(UInt32(stream)) + payload
  }

  static func bytes(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }

  static func data(_ bytes: some Sequence<UInt8>, on stream: Int32, ends: Bool = false) -> Self {
    Self(type: 0, flags: ends ? endStream : 0, stream: stream, payload: Array(bytes))
  }

  /// Returns a frame with a whole header block, as literals that enter no table and are not Huffman coded.
  static func headers(_ fields: [(String, String)], on stream: Int32, ends: Bool = false) -> Self {
    Self(type: 1, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: block(fields))
  }

  static func head(
    _ status: Int, _ fields: [(String, String)] = [], on stream: Int32, ends: Bool = false
  ) -> Self {
    headers([(":status", "\(status)")] + fields, on: stream, ends: ends)
  }

  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { [0] + string($0.0) + string($0.1) }
  }

  /// Encodes a string literal (RFC 7541 §5.1 and §5.2).
  private static func string(_ text: String) -> [UInt8] {
    var rest = text.utf8.count
    guard rest >= 127 else { return [UInt8(rest)] + Array(text.utf8) }
    var bytes: [UInt8] = [127]
    rest -= 127
    while rest >= 128 {
      bytes.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return bytes + [UInt8(rest)] + Array(text.utf8)
  }

  static func priority(on stream: Int32) -> Self { Self(type: 2, stream: stream, payload: [0, 0, 0, 0, 15]) }

  static func reset(_ code: UInt32, on stream: Int32) -> Self {
    Self(type: 3, stream: stream, payload: bytes(code))
  }

  static func settings(_ pairs: [(UInt16, UInt32)] = []) -> Self {
    Self(type: 4, payload: pairs.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + bytes($0.1) })
  }

  static let settingsAck = Self(type: 4, flags: ack)

  static func push(_ promised: UInt32, on stream: Int32) -> Self {
    Self(type: 5, flags: endHeaders, stream: stream, payload: bytes(promised) + block([(":method", "GET")]))
  }

  static func ping(_ payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], isAck: Bool = false) -> Self {
    Self(type: 6, flags: isAck ? ack : 0, payload: payload)
  }

  static func goAway(last: Int32, _ code: UInt32 = 0, _ text: String = "") -> Self {
    Self(type: 7, payload: bytes(UInt32(last)) + bytes(code) + Array(text.utf8))
  }

  static func windowUpdate(_ count: UInt32, on stream: Int32) -> Self {
    Self(type: 8, stream: stream, payload: bytes(count))
  }
}

/// A parser that extracts frames from bytes that arrive in pieces.
struct WireFrameParser {
  private var bytes: [UInt8] = []
  var hasPreface: Bool

  /// - Parameter hasPreface: whether a client's preface precedes the frames.
  init(hasPreface: Bool = true) { self.hasPreface = hasPreface }

  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  mutating func feed(_ input: some Collection<UInt8>) -> [WireFrame] {
    bytes += input
    var start = 0
    if hasPreface {
      guard bytes.count >= Self.preface.count else { return [] }
      hasPreface = !bytes.starts(with: Self.preface)
      start = Self.preface.count
    }
    var frames: [WireFrame] = []
    while bytes.count - start >= 9 {
      let count = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
      guard bytes.count - start >= 9 + count else { break }
      let stream = bytes[start + 5..<start + 9].reduce(0) { $0 << 8 | Int32($1) }
      frames.append(
        WireFrame(
          type: bytes[start + 3], flags: bytes[start + 4], stream: stream,
          payload: Array(bytes[start + 9..<start + 9 + count])))
      start += 9 + count
    }
    bytes.removeFirst(start)
    return frames
  }
}
