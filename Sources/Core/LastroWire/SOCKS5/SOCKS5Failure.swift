// SPDX-License-Identifier: Apache-2.0

/// The reason why SOCKS 5 did not open a tunnel.
package struct SOCKS5Failure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The protocol cannot encode the target, or the login (RFC 1928 §5, RFC 1929 §2).
    case target
    case login
    /// The proxy broke the protocol. The value tells whether it may be a different kind of proxy.
    case violation(isOtherProtocol: Bool)
    /// The proxy accepts none of the offered methods (RFC 1928 §3).
    case noMethod
    /// The proxy rejected user and password, with this status (RFC 1929 §2).
    case loginRefused(UInt8)
    /// The proxy rejected the request, with this reply code (RFC 1928 §6).
    case refused(UInt8)
  }

  package var kind: Kind
  package var message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  static func violation(_ message: String, isOtherProtocol: Bool = false) -> Self {
    Self(.violation(isOtherProtocol: isOtherProtocol), message)
  }
}
