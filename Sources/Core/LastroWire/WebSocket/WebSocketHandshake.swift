// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives

/// The reason why a handshake failed (RFC 6455 §4.1).
package typealias WebSocketHandshakeFailure = WireViolation<WebSocketHandshakeFault>

/// The parts of a handshake that may be wrong.
package enum WebSocketHandshakeFault: Equatable, Sendable {
  case upgrade
  case connection
  case accept
  /// libcrypto refuses SHA-1, which the check of the response needs.
  case digest
  case subprotocol
  case extensions
  case request
}

/// The opening handshake (RFC 6455 §4), without HTTP's bytes.
package struct WebSocketHandshake: Sendable {
  /// The subprotocol and the extension that both sides agreed on.
  package struct Agreement: Sendable, Equatable {
    package var subprotocol: String?
    package var deflate: WebSocketDeflate?
  }

  /// The value of `Sec-WebSocket-Key`.
  package let key: String
  package let subprotocols: [String]
  package let offer: WebSocketDeflateOffer?

  /// Creates a handshake.
  ///
  /// - Parameter nonce: 16 random bytes, as two words.
  package init(nonce: (UInt64, UInt64), subprotocols: [String] = [], offer: WebSocketDeflateOffer? = nil) {
    let bytes = [nonce.0, nonce.1].flatMap { word in
      stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
    key = Base64.encode(bytes)
    self.subprotocols = subprotocols
    self.offer = offer
  }

  /// Returns the value of `Sec-WebSocket-Accept` for a key; empty if libcrypto refuses SHA-1. The value proves that the
  /// server has read the request, and protects nothing.
  package static func accept(_ key: String) -> String {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    return clastro_digest_of("SHA1", text, text.count, &digest, 20) ? Base64.encode(digest) : ""
  }

  /// The fields that make a GET request a handshake.
  package var fields: [(name: String, value: String)] {
    var fields = [(name: "Connection", value: "Upgrade"), (name: "Upgrade", value: "websocket")]
    fields += tunnelFields
    fields.insert((name: "Sec-WebSocket-Key", value: key), at: 3)
    return fields
  }

  /// The fields of an extended CONNECT (RFC 8441 §5).
  package var tunnelFields: [(name: String, value: String)] {
    var fields = [(name: "Sec-WebSocket-Version", value: "13")]
    if !subprotocols.isEmpty {
      fields.append((name: "Sec-WebSocket-Protocol", value: subprotocols.joined(separator: ", ")))
    }
    if let offer { fields.append((name: "Sec-WebSocket-Extensions", value: offer.headerValue)) }
    return fields
  }

  /// Validates the head of a 101 response.
  package func check(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> Agreement {
    let upgrade = head.values("upgrade")
    guard upgrade.count == 1, upgrade[0].isASCII("websocket") else {
      throw WebSocketHandshakeFailure(.upgrade, Self.wrong("Upgrade", upgrade, wanted: "websocket"))
    }
    guard head.elements("connection").contains(where: { $0.isASCII("upgrade") }) else {
      throw WebSocketHandshakeFailure(
        .connection, Self.wrong("Connection", head.values("connection"), wanted: "Upgrade"))
    }
    let accept = Self.accept(key)
    guard !accept.isEmpty else {
      throw WebSocketHandshakeFailure(.digest, "libcrypto refuses SHA-1, with which the server's response is checked")
    }
    guard head.values("sec-websocket-accept") == [accept] else {
      throw WebSocketHandshakeFailure(.accept, "the server's Sec-WebSocket-Accept does not match our key")
    }
    return try checkTunnel(head)
  }

  /// Validates the head of a 2xx response to an extended CONNECT, which needs no proof that the server has read the
  /// request (RFC 8441 §5.1).
  package func checkTunnel(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> Agreement {
    Agreement(subprotocol: try subprotocol(head), deflate: try deflate(head))
  }

  private static func wrong(_ name: String, _ values: [String], wanted: String) -> String {
    values.isEmpty
      ? "the server's response has no \(name)" : "the server answered \(name): \(shown(values)) instead of \(wanted)"
  }

  /// Returns the values of header fields for an error text. Values have no control characters.
  private static func shown(_ values: [String]) -> String {
    let text = values.joined(separator: ", ")
    return text.count > 80 ? "\(text.prefix(80))…" : text
  }

  private func subprotocol(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> String? {
    let chosen = head.values("sec-websocket-protocol")
    guard let first = chosen.first else { return nil }
    guard chosen.count == 1, subprotocols.contains(first) else {
      let offered = subprotocols.isEmpty ? "none" : Self.shown(subprotocols)
      throw WebSocketHandshakeFailure(
        .subprotocol, "the server chose the subprotocol \(Self.shown(chosen)); offered: \(offered)")
    }
    return first
  }

  private func deflate(_ head: ResponseHead) throws(WebSocketHandshakeFailure) -> WebSocketDeflate? {
    let text = head.values("sec-websocket-extensions").joined(separator: ",")
    guard let extensions = WebSocketExtension.list(text) else {
      throw WebSocketHandshakeFailure(
        .extensions, "the server's Sec-WebSocket-Extensions is not well-formed: \(Self.shown([text]))")
    }
    guard let first = extensions.first else { return nil }
    guard let offer, extensions.count == 1, first.name == "permessage-deflate" else {
      throw WebSocketHandshakeFailure(
        .extensions, "the server chose an extension that was not offered: \(Self.shown([text]))")
    }
    return try offer.agreement(first)
  }
}
