// SPDX-License-Identifier: Apache-2.0

/// What client and server agreed on for permessage-deflate (RFC 7692 §7.1).
package struct WebSocketDeflate: Sendable, Hashable {
  package var serverNoContextTakeover = false
  package var clientNoContextTakeover = false
  package var serverWindowBits = 15
  package var clientWindowBits = 15

  package init() {}

  func windowBits(of role: WebSocketRole) -> Int { role == .client ? clientWindowBits : serverWindowBits }

  func forgetsContext(of role: WebSocketRole) -> Bool {
    role == .client ? clientNoContextTakeover : serverNoContextTakeover
  }

  /// The header field of a server's answer: parameters that were not asked for stand in it only where they are not the
  /// default.
  package var headerValue: String {
    var text = "permessage-deflate"
    if serverNoContextTakeover { text += "; server_no_context_takeover" }
    if clientNoContextTakeover { text += "; client_no_context_takeover" }
    if serverWindowBits < 15 { text += "; server_max_window_bits=\(serverWindowBits)" }
    if clientWindowBits < 15 { text += "; client_max_window_bits=\(clientWindowBits)" }
    return text
  }
}

/// What a client offers (RFC 7692 §7.1).
package struct WebSocketDeflateOffer: Sendable, Hashable {
  package var serverNoContextTakeover = false
  package var clientNoContextTakeover = false
  package var serverMaximumWindowBits: Int?
  /// Whether a server may bound our window.
  package var allowsClientWindowBits = true
  package var clientMaximumWindowBits: Int?

  package init() {}

  package var headerValue: String {
    var text = "permessage-deflate"
    if serverNoContextTakeover { text += "; server_no_context_takeover" }
    if clientNoContextTakeover { text += "; client_no_context_takeover" }
    if let serverMaximumWindowBits { text += "; server_max_window_bits=\(serverMaximumWindowBits)" }
    if let clientMaximumWindowBits {
      text += "; client_max_window_bits=\(clientMaximumWindowBits)"
    } else if allowsClientWindowBits {
      text += "; client_max_window_bits"
    }
    return text
  }

  /// What an answer of the server agrees on. An answer that does not fit the offer must be refused (RFC 7692 §7.1).
  package func agreement(_ answer: WebSocketExtension) throws(WebSocketHandshakeFailure) -> WebSocketDeflate {
    guard let parameters = DeflateParameters(answer) else {
      throw WebSocketHandshakeFailure(.extensions, "the server's permessage-deflate has parameters that are not valid")
    }
    var deflate = WebSocketDeflate()
    deflate.serverNoContextTakeover = parameters.serverNoContextTakeover
    deflate.clientNoContextTakeover = parameters.clientNoContextTakeover || clientNoContextTakeover
    deflate.serverWindowBits = parameters.serverBits ?? 15
    var isFit = parameters.serverNoContextTakeover || !serverNoContextTakeover
    if let serverMaximumWindowBits { isFit = isFit && deflate.serverWindowBits <= serverMaximumWindowBits }
    switch parameters.clientBits {
    case .none: deflate.clientWindowBits = clientMaximumWindowBits ?? 15
    case .unbound: isFit = false
    case .bits(let bits):
      isFit = isFit && (allowsClientWindowBits || clientMaximumWindowBits != nil)
      deflate.clientWindowBits = min(bits, clientMaximumWindowBits ?? 15)
    }
    guard isFit else {
      throw WebSocketHandshakeFailure(
        .extensions, "the server's permessage-deflate has parameters that were not offered")
    }
    return deflate
  }
}

extension WebSocketDeflate {
  /// What a server makes of an offer; `nil` when it cannot accept it.
  package init?(
    accepting offer: WebSocketExtension, serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
    serverWindowBits: Int = 15, clientWindowBits: Int = 15
  ) {
    guard offer.name == "permessage-deflate", let parameters = DeflateParameters(offer) else { return nil }
    self.serverNoContextTakeover = serverNoContextTakeover || parameters.serverNoContextTakeover
    self.clientNoContextTakeover = clientNoContextTakeover
    self.serverWindowBits = min(serverWindowBits, parameters.serverBits ?? 15)
    switch parameters.clientBits {
    case .none:
      // The client was not told that it may be bound.
      guard clientWindowBits == 15 else { return nil }
    case .unbound: self.clientWindowBits = clientWindowBits
    case .bits(let bits): self.clientWindowBits = min(bits, clientWindowBits)
    }
  }
}

/// Parameters of permessage-deflate, each at most once and well-formed.
private struct DeflateParameters {
  enum ClientBits {
    case none
    case unbound
    case bits(Int)
  }

  var serverNoContextTakeover = false
  var clientNoContextTakeover = false
  var serverBits: Int?
  var clientBits = ClientBits.none

  init?(_ source: WebSocketExtension) {
    var seen: Set<String> = []
    for (name, value) in source.parameters {
      guard seen.insert(name).inserted else { return nil }
      switch (name, value) {
      case ("server_no_context_takeover", nil): serverNoContextTakeover = true
      case ("client_no_context_takeover", nil): clientNoContextTakeover = true
      case ("server_max_window_bits", let value?):
        guard let bits = Self.bits(value) else { return nil }
        serverBits = bits
      case ("client_max_window_bits", nil): clientBits = .unbound
      case ("client_max_window_bits", let value?):
        guard let bits = Self.bits(value) else { return nil }
        clientBits = .bits(bits)
      default: return nil
      }
    }
  }

  /// 8 to 15, without a leading zero (RFC 7692 §7.1.2.1).
  private static func bits(_ text: String) -> Int? {
    switch text {
    case "8": 8
    case "9": 9
    case "10": 10
    case "11": 11
    case "12": 12
    case "13": 13
    case "14": 14
    case "15": 15
    default: nil
    }
  }
}
