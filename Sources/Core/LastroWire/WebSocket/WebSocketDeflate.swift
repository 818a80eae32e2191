// SPDX-License-Identifier: Apache-2.0

/// The parameters of permessage-deflate that client and server agreed on (RFC 7692 §7.1).
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

  /// The header field of a server's response. It contains only parameters that differ from their defaults.
  package var headerValue: String {
    var text = "permessage-deflate"
    if serverNoContextTakeover { text += "; server_no_context_takeover" }
    if clientNoContextTakeover { text += "; client_no_context_takeover" }
    if serverWindowBits < 15 { text += "; server_max_window_bits=\(serverWindowBits)" }
    if clientWindowBits < 15 { text += "; client_max_window_bits=\(clientWindowBits)" }
    return text
  }
}

/// The permessage-deflate offer of a client (RFC 7692 §7.1).
package struct WebSocketDeflateOffer: Sendable, Hashable {
  package var serverNoContextTakeover = false
  package var clientNoContextTakeover = false
  package var serverMaximumWindowBits: Int?
  /// Whether a server may limit our window.
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

  /// Returns the parameters that a server's response agrees to. A response that does not match the offer is rejected
  /// (RFC 7692 §7.1).
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
  /// Accepts a client's offer as a server; `nil` if it cannot be accepted.
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
      // The client did not offer to limit its window.
      guard clientWindowBits == 15 else { return nil }
    case .unbound: self.clientWindowBits = clientWindowBits
    case .bits(let bits): self.clientWindowBits = min(bits, clientWindowBits)
    }
  }
}

/// The parameters of permessage-deflate. Each occurs at most once and is well-formed.
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

  /// Parses 8 to 15, without a leading zero (RFC 7692 §7.1.2.1).
  private static func bits(_ text: String) -> Int? { (8...15).first { "\($0)" == text } }
}
