// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A frame of HTTP/2 in a trace, or a part of one, with its secrets masked.
package struct TraceFrame: Sendable, Codable, Equatable {
  /// The names of the types in RFC 9113, by their numbers.
  private static let names = [
    "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
    "CONTINUATION",
  ]

  /// The name of the frame's type, or its number; `nil` for a further part of the frame before.
  package var type: String?
  package var flags: UInt8?
  package var stream: Int32?
  package var length: Int?
  package var fields: [TraceField]?
  /// Whether the header block is not valid HPACK behind its fields.
  package var isInvalid: Bool?
  package var pieces: [TracePiece]?
  /// Whether the frame is complete.
  package var isEnd: Bool?

  enum CodingKeys: String, CodingKey {
    case type, flags, stream, length, fields, isInvalid = "invalid", pieces = "bytes", isEnd = "end"
  }

  init(_ piece: FramePiece) {
    if let head = piece.head {
      type = Int(head.type) < Self.names.count ? Self.names[Int(head.type)] : "\(head.type)"
      (flags, stream, length) = (head.flags, head.stream, head.length)
    }
    if piece.isInvalid { isInvalid = true }
    if piece.isEnd { isEnd = true }
  }

  /// The number of the frame's type.
  package var typeNumber: UInt8? {
    guard let type else { return nil }
    return Self.names.firstIndex(of: type).map { UInt8($0) } ?? UInt8(type)
  }

  /// The number of bytes of the payload in this part.
  package var byteCount: Int {
    (pieces ?? []).reduce(0) { count, piece in
      if case .left(let left) = piece { count + left } else { count + piece.bytes.count }
    }
  }

  /// A line that describes the frame; `nil` for a further part.
  package var line: String? {
    guard let type, let stream else { return nil }
    let place = stream == 0 ? type : "\(type) of stream \(stream)"
    if let fields, !fields.isEmpty { return "\(place): \(fields.map(\.line).joined(separator: ", "))" }
    return "\(place), \(length ?? 0) bytes"
  }
}

/// A field of a header block: a name and a value, and `base64` if both are bytes that are no text.
package struct TraceField: Sendable, Codable, Equatable {
  package var name: [UInt8]
  package var value: [UInt8]

  init(_ field: FramePiece.Field) { (name, value) = (field.name, field.value) }

  package init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    let name = try container.decode(String.self), value = try container.decode(String.self)
    if container.isAtEnd {
      (self.name, self.value) = (Array(name.utf8), Array(value.utf8))
    } else {
      self.name = Data(base64Encoded: name).map { Array($0) } ?? []
      self.value = Data(base64Encoded: value).map { Array($0) } ?? []
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    if let name = String(validating: name, as: UTF8.self), let value = String(validating: value, as: UTF8.self) {
      try container.encode(name)
      try container.encode(value)
    } else {
      try container.encode(Data(name).base64EncodedString())
      try container.encode(Data(value).base64EncodedString())
      try container.encode("base64")
    }
  }

  var line: String { "\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))" }
}
