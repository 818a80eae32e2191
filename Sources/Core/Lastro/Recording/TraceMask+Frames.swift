// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// Replaces the secrets and bodies in the frames of HTTP/2 by as many other bytes.
extension TraceMask {
  private static let dataType: UInt8 = 0
  private static let headersType: UInt8 = 1
  private static let paddedFlag: UInt8 = 8

  /// The body of a stream.
  struct FrameBody {
    /// A part of the body: its event, its frame there, and its size.
    struct Part {
      var event: Int
      var frame: Int
      var count: Int
    }

    var parts: [Part] = []
    /// The bytes; empty if the tape does not keep bodies.
    var bytes: [UInt8] = []
    var isEncoded = false
    var isGzip = false

    var count: Int { parts.reduce(0) { $0 + $1.count } }
  }

  /// The masked frames of one direction of a connection.
  struct Frames {
    /// The frames of each event.
    var events: [[TraceFrame]]
    var bodies: [Int32: FrameBody] = [:]

    /// Leaves out the bytes of a body, of which only the number is kept.
    fileprivate mutating func leaveOut(_ body: FrameBody) {
      for part in body.parts where part.count > 0 {
        events[part.event][part.frame].pieces = (events[part.event][part.frame].pieces ?? []) + [.left(part.count)]
      }
    }

    /// Replaces a body by as many bytes.
    mutating func replace(_ body: FrameBody, with bytes: [UInt8]) {
      var taken = 0
      for part in body.parts {
        let end = min(bytes.count, taken + part.count)
        let kept = events[part.event][part.frame].pieces ?? []
        events[part.event][part.frame].pieces = kept + TracePiece.pieces(of: bytes[taken..<end])
        taken = end
      }
    }
  }

  /// Returns the masked frames of events.
  func frames(_ events: [[FramePiece]]) -> Frames {
    var result = Frames(events: events.map { $0.map { TraceFrame($0) } })
    var head: FramePiece.Head?
    var offset = 0
    for (event, pieces) in events.enumerated() {
      for (index, piece) in pieces.enumerated() {
        if let new = piece.head { (head, offset) = (new, 0) }
        guard let head else { continue }
        if !piece.fields.isEmpty {
          result.events[event][index].fields = piece.fields.map(masked)
          note(piece.fields, of: head, &result)
        }
        guard piece.payload.count + piece.left > 0 else { continue }
        guard head.type == Self.dataType else {
          var kept = piece.payload.isEmpty ? [] : TracePiece.pieces(of: piece.payload[...])
          if piece.left > 0 { kept.append(.left(piece.left)) }
          result.events[event][index].pieces = kept
          continue
        }
        var payload = piece.payload[...]
        // The length of the padding is part of the payload, and must stay.
        if head.flags & Self.paddedFlag != 0, offset == 0, let first = payload.popFirst() {
          result.events[event][index].pieces = TracePiece.pieces(of: [first])
        }
        offset += piece.payload.count + piece.left
        result.bodies[head.stream, default: FrameBody()].bytes += payload
        result.bodies[head.stream, default: FrameBody()].parts.append(
          .init(event: event, frame: index, count: payload.count + piece.left))
      }
    }
    for body in result.bodies.values where !body.isEncoded {
      if body.bytes.isEmpty { result.leaveOut(body) } else { result.replace(body, with: self.body(body.bytes)) }
    }
    return result
  }

  /// Records the content coding that a head announces.
  private func note(_ fields: [FramePiece.Field], of head: FramePiece.Head, _ result: inout Frames) {
    for field in fields where String(decoding: field.name, as: UTF8.self) == "content-encoding" {
      let coding = String(decoding: field.value, as: UTF8.self).lowercased()
      result.bodies[head.stream, default: FrameBody()].isEncoded = coding != "identity" && !coding.isEmpty
      result.bodies[head.stream, default: FrameBody()].isGzip = coding == "gzip" || coding == "x-gzip"
    }
  }

  /// Returns a field with its secrets masked by name and by value.
  private func masked(_ field: FramePiece.Field) -> TraceField {
    var result = field
    let name = String(decoding: field.name, as: UTF8.self)
    if name == ":path" {
      let shown = Array(redaction.url(String(decoding: field.value, as: UTF8.self)).utf8)
      result.value = shown.count == field.value.count ? shown : filled(field.value[...])
      return TraceField(result)
    }
    let isSecret = HTTPField.Name(name).map { redaction.isSecret($0) } ?? redaction.isSecret(name: name)
    let isChallenge = ["www-authenticate", "proxy-authenticate"].contains(name.lowercased())
    // Control characters stay, because they are a fault that a replay must show.
    result.value =
      isSecret && !isChallenge
      ? field.value.map { $0 > 0x20 && $0 != 0x7F ? UInt8(ascii: "*") : $0 } : masked(field.value[...])
    return TraceField(result)
  }
}
