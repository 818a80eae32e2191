// SPDX-License-Identifier: Apache-2.0

/// A frame of HTTP/2 as it goes over the wire (RFC 9113 §4.1): legal or not.
public struct LoopbackHTTP2Frame: Sendable, Hashable {
  /// The type of a frame (RFC 9113 §6). Any number can be sent.
  public struct Kind: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number on the wire.
    public var rawValue: UInt8

    /// Wraps a number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Wraps a number.
    public init(integerLiteral value: UInt8) { rawValue = value }

    /// DATA.
    public static let data: Self = 0x0
    /// HEADERS.
    public static let headers: Self = 0x1
    /// PRIORITY.
    public static let priority: Self = 0x2
    /// RST_STREAM.
    public static let resetStream: Self = 0x3
    /// SETTINGS.
    public static let settings: Self = 0x4
    /// PUSH_PROMISE.
    public static let pushPromise: Self = 0x5
    /// PING.
    public static let ping: Self = 0x6
    /// GOAWAY.
    public static let goAway: Self = 0x7
    /// WINDOW_UPDATE.
    public static let windowUpdate: Self = 0x8
    /// CONTINUATION.
    public static let continuation: Self = 0x9
  }

  /// END_STREAM of DATA and HEADERS.
  public static let endStream: UInt8 = 0x1
  /// ACK of SETTINGS and PING.
  public static let acknowledgement: UInt8 = 0x1
  /// END_HEADERS of HEADERS and CONTINUATION.
  public static let endHeaders: UInt8 = 0x4
  /// PADDED of DATA and HEADERS.
  public static let padded: UInt8 = 0x8
  /// PRIORITY of HEADERS.
  public static let hasPriority: UInt8 = 0x20

  /// Its type.
  public var kind: Kind
  /// Its flags, such as ``endStream``.
  public var flags: UInt8
  /// The stream it is on; 0 is the connection. The highest bit is reserved and sent as given.
  public var stream: UInt32
  /// What it carries.
  public var payload: [UInt8]
  /// The length it claims, of which 24 bits are sent. Default that of the payload.
  public var length: Int

  /// Makes a frame.
  ///
  /// - Parameters:
  ///   - kind: its type.
  ///   - flags: default none.
  ///   - stream: 0 for the connection.
  ///   - payload: default empty.
  ///   - length: the length it claims; default that of the payload.
  public init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32, payload: [UInt8] = [], length: Int? = nil) {
    self.kind = kind
    self.flags = flags
    self.stream = stream
    self.payload = payload
    self.length = length ?? payload.count
  }

  /// Its bytes: nine of header, then the payload.
  public var bytes: [UInt8] {
    let size = UInt32(truncatingIfNeeded: length)
    return Self.bytes(of: size).dropFirst() + [kind.rawValue, flags] + Self.bytes(of: stream) + payload
  }

  static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

extension LoopbackHTTP2Frame {
  /// A piece of a body.
  public static func data(_ bytes: some Sequence<UInt8>, stream: UInt32, ends: Bool = false) -> Self {
    Self(.data, flags: ends ? endStream : 0, stream: stream, payload: Array(bytes))
  }

  /// A whole header block: literals, without Huffman coding, names as given. Pseudo-fields such as `:status` first.
  public static func headers(
    _ fields: [RawRequestHead.Field], stream: UInt32, ends: Bool = false
  ) -> Self {
    Self(
      .headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: HeaderBlock.encoded(fields))
  }

  /// A head with a status and fields.
  public static func head(
    _ status: Int, _ fields: KeyValuePairs<String, String> = [:], stream: UInt32, ends: Bool = false
  ) -> Self {
    let all = [RawRequestHead.Field(name: ":status", value: "\(status)")] + fields.map { .init(name: $0, value: $1) }
    return headers(all, stream: stream, ends: ends)
  }

  /// Ends a stream with an error.
  public static func resetStream(_ code: LoopbackHTTP2Code, stream: UInt32) -> Self {
    Self(.resetStream, stream: stream, payload: bytes(of: code.rawValue))
  }

  /// No streams above this one are, or will be, acted on.
  public static func goAway(
    lastStream: UInt32, _ code: LoopbackHTTP2Code = .noError, debug: String = ""
  ) -> Self {
    Self(
      .goAway, stream: 0, payload: bytes(of: lastStream) + bytes(of: code.rawValue) + Array(debug.utf8))
  }

  /// Settings.
  public static func settings(_ settings: [LoopbackHTTP2Settings.Setting]) -> Self {
    let payload = settings.flatMap { setting in
      [UInt8(setting.identifier >> 8), UInt8(truncatingIfNeeded: setting.identifier)] + bytes(of: setting.value)
    }
    return Self(.settings, stream: 0, payload: payload)
  }

  /// Room for so many bytes more, on a stream or (0) the connection.
  public static func windowUpdate(_ count: UInt32, stream: UInt32) -> Self {
    Self(.windowUpdate, stream: stream, payload: bytes(of: count))
  }

  /// A frame twice as large as a client that announced nothing accepts.
  public static func oversized(stream: UInt32) -> Self {
    Self(.data, stream: stream, payload: [UInt8](repeating: 0x2a, count: 32_768))
  }

  /// A header block that refers to an entry no table has (RFC 7541 §2.3.3).
  public static func brokenHeaders(stream: UInt32) -> Self {
    Self(.headers, flags: endHeaders | endStream, stream: stream, payload: [0xff, 0x80, 0x7f])
  }
}
