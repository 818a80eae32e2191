// SPDX-License-Identifier: Apache-2.0

/// An HTTP/2 frame in its wire format (RFC 9113 §4.1), valid or not.
package struct LoopbackHTTP2Frame: Sendable, Hashable {
  /// The type of a frame (RFC 9113 §6). Any number can be sent.
  package struct Kind: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number on the wire.
    package var rawValue: UInt8

    /// Creates a type from a number.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates a type from a number.
    package init(integerLiteral value: UInt8) { rawValue = value }

    /// DATA.
    package static let data: Self = 0x0
    /// HEADERS.
    package static let headers: Self = 0x1
    /// PRIORITY.
    package static let priority: Self = 0x2
    /// RST_STREAM.
    package static let resetStream: Self = 0x3
    /// SETTINGS.
    package static let settings: Self = 0x4
    /// PUSH_PROMISE.
    package static let pushPromise: Self = 0x5
    /// PING.
    package static let ping: Self = 0x6
    /// GOAWAY.
    package static let goAway: Self = 0x7
    /// WINDOW_UPDATE.
    package static let windowUpdate: Self = 0x8
    /// CONTINUATION.
    package static let continuation: Self = 0x9
  }

  /// END_STREAM of DATA and HEADERS.
  package static let endStream: UInt8 = 0x1
  /// ACK of SETTINGS and PING.
  package static let acknowledgement: UInt8 = 0x1
  /// END_HEADERS of HEADERS and CONTINUATION.
  package static let endHeaders: UInt8 = 0x4
  /// PADDED of DATA and HEADERS.
  package static let padded: UInt8 = 0x8
  /// PRIORITY of HEADERS.
  package static let hasPriority: UInt8 = 0x20

  /// The type.
  package var kind: Kind
  /// The flags, such as ``endStream``.
  package var flags: UInt8
  /// The stream of the frame; 0 is the connection. The highest bit is reserved, and sent as given.
  package var stream: UInt32
  /// The payload.
  package var payload: [UInt8]
  /// The length in the frame's header, of which 24 bits are sent. Default: that of the payload.
  package var length: Int

  /// Creates a frame.
  ///
  /// - Parameters:
  ///   - kind: the type.
  ///   - flags: the flags. Default: none.
  ///   - stream: the stream; 0 for the connection.
  ///   - payload: the payload. Default: empty.
  ///   - length: the length in the frame's header. Default: that of the payload.
  package init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32, payload: [UInt8] = [], length: Int? = nil) {
    self.kind = kind
    self.flags = flags
    self.stream = stream
    self.payload = payload
    self.length = length ?? payload.count
  }

  /// The bytes of the frame: nine bytes of header, then the payload.
  package var bytes: [UInt8] {
    let size = UInt32(truncatingIfNeeded: length)
    return Self.bytes(of: size).dropFirst() + [kind.rawValue, flags] + Self.bytes(of: stream) + payload
  }

  static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  package static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

extension LoopbackHTTP2Frame {
  /// Returns a DATA frame with a piece of a body.
  package static func data(_ bytes: some Sequence<UInt8>, stream: UInt32, ends: Bool = false) -> Self {
    Self(.data, flags: ends ? endStream : 0, stream: stream, payload: Array(bytes))
  }

  /// Returns a frame with a whole header block: literals without Huffman coding, names as given. Pseudo-fields such as
  /// `:status` come first.
  package static func headers(
    _ fields: [RawRequestHead.Field], stream: UInt32, ends: Bool = false
  ) -> Self {
    Self(
      .headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: HeaderBlock.encoded(fields))
  }

  /// Returns a head with a status and fields.
  package static func head(
    _ status: Int, _ fields: KeyValuePairs<String, String> = [:], stream: UInt32, ends: Bool = false
  ) -> Self {
    let all = [RawRequestHead.Field(name: ":status", value: "\(status)")] + fields.map { .init(name: $0, value: $1) }
    return headers(all, stream: stream, ends: ends)
  }

  /// Returns a frame that ends a stream with an error.
  package static func resetStream(_ code: LoopbackHTTP2Code, stream: UInt32) -> Self {
    Self(.resetStream, stream: stream, payload: bytes(of: code.rawValue))
  }

  /// Returns a GOAWAY: streams above the last one are not, and will not be, processed.
  package static func goAway(
    lastStream: UInt32, _ code: LoopbackHTTP2Code = .noError, debug: String = ""
  ) -> Self {
    Self(
      .goAway, stream: 0, payload: bytes(of: lastStream) + bytes(of: code.rawValue) + Array(debug.utf8))
  }

  /// Returns a SETTINGS frame.
  package static func settings(_ settings: [LoopbackHTTP2Settings.Setting]) -> Self {
    let payload = settings.flatMap { setting in
      [UInt8(setting.identifier >> 8), UInt8(truncatingIfNeeded: setting.identifier)] + bytes(of: setting.value)
    }
    return Self(.settings, stream: 0, payload: payload)
  }

  /// Returns a frame that enlarges the window of a stream, or of the connection (0), by the given number of bytes.
  package static func windowUpdate(_ count: UInt32, stream: UInt32) -> Self {
    Self(.windowUpdate, stream: stream, payload: bytes(of: count))
  }

  /// Returns a frame twice as large as a client accepts by default.
  package static func oversized(stream: UInt32) -> Self {
    Self(.data, stream: stream, payload: [UInt8](repeating: 0x2a, count: 32_768))
  }

  /// Returns a header block that refers to an entry that no table has (RFC 7541 §2.3.3).
  package static func brokenHeaders(stream: UInt32) -> Self {
    Self(.headers, flags: endHeaders | endStream, stream: stream, payload: [0xff, 0x80, 0x7f])
  }
}
