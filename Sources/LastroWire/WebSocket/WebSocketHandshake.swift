// SPDX-License-Identifier: Apache-2.0

/// Why a handshake does not lead to a WebSocket (RFC 6455 §4.1).
package struct WebSocketHandshakeFailure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case upgrade
    case connection
    case accept
    case subprotocol
    case extensions
    case request
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

/// The opening handshake (RFC 6455 §4), but for the bytes of HTTP.
package struct WebSocketHandshake: Sendable {
  /// What both sides agreed on.
  package struct Agreement: Sendable, Equatable {
    package var subprotocol: String?
    package var deflate: WebSocketDeflate?
  }

  /// `Sec-WebSocket-Key`.
  package let key: String
  package let subprotocols: [String]
  package let offer: WebSocketDeflateOffer?

  /// - Parameter nonce: 16 random bytes, as two words.
  package init(nonce: (UInt64, UInt64), subprotocols: [String] = [], offer: WebSocketDeflateOffer? = nil) {
    let bytes = [nonce.0, nonce.1].flatMap { word in
      stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
    key = Base64.encode(bytes)
    self.subprotocols = subprotocols
    self.offer = offer
  }

  /// What a server answers to a key.
  package static func accept(_ key: String) -> String {
    Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// The fields that make a GET request a handshake.
  package var fields: [(name: String, value: String)] {
    var fields = [
      ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", key),
    ]
    if !subprotocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))) }
    if let offer { fields.append(("Sec-WebSocket-Extensions", offer.headerValue)) }
    return fields
  }

  /// Whether a byte may be in a token (RFC 9110 §5.6.2), as the name of a subprotocol is.
  package static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }

  /// Checks the head of a 101 answer.
  package func check(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> Agreement {
    let upgrade = Self.values("upgrade", head)
    guard upgrade.count == 1, upgrade[0].isASCII("websocket") else {
      throw WebSocketHandshakeFailure(.upgrade, "the server's Upgrade is not websocket")
    }
    guard Self.list("connection", head).contains(where: { $0.isASCII("upgrade") }) else {
      throw WebSocketHandshakeFailure(.connection, "the server's Connection is not Upgrade")
    }
    guard Self.values("sec-websocket-accept", head) == [Self.accept(key)] else {
      throw WebSocketHandshakeFailure(.accept, "the server's Sec-WebSocket-Accept is not the answer to our key")
    }
    return Agreement(subprotocol: try subprotocol(head), deflate: try deflate(head))
  }

  private func subprotocol(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> String? {
    let chosen = Self.values("sec-websocket-protocol", head)
    guard let first = chosen.first else { return nil }
    guard chosen.count == 1, subprotocols.contains(first) else {
      throw WebSocketHandshakeFailure(.subprotocol, "the server chose a subprotocol that was not offered")
    }
    return first
  }

  private func deflate(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> WebSocketDeflate? {
    let text = Self.values("sec-websocket-extensions", head).joined(separator: ",")
    guard let extensions = WebSocketExtension.list(text) else {
      throw WebSocketHandshakeFailure(.extensions, "the server's Sec-WebSocket-Extensions is not well-formed")
    }
    guard let first = extensions.first else { return nil }
    guard let offer, extensions.count == 1, first.name == "permessage-deflate" else {
      throw WebSocketHandshakeFailure(.extensions, "the server chose an extension that was not offered")
    }
    return try offer.agreement(first)
  }

  private static func values(_ name: StaticString, _ head: ResponseHead) -> [String] {
    head.fields.filter { $0.name.isASCII(name) }.map(\.value)
  }

  private static func list(_ name: StaticString, _ head: ResponseHead) -> [String] {
    values(name, head).flatMap { Self.elements($0) }
  }

  /// The elements of a list of tokens, without the blanks around them.
  package static func elements(_ text: String) -> [String] {
    text.utf8.split(separator: 0x2C).compactMap { part in
      let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
      guard let first = part.firstIndex(where: { !isBlank($0) }), let last = part.lastIndex(where: { !isBlank($0) })
      else { return nil }
      return String(Substring(part[first...last]))
    }
  }
}
