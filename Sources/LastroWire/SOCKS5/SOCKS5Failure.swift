// SPDX-License-Identifier: Apache-2.0

/// Why SOCKS 5 opens no tunnel.
package struct SOCKS5Failure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The protocol cannot carry what is to be asked (RFC 1928 §5, RFC 1929 §2).
    case target
    case login
    /// The proxy breaks the protocol. Whether it may be a proxy of another kind.
    case violation(isOtherProtocol: Bool)
    /// The proxy accepts none of the methods that were offered (RFC 1928 §3).
    case noMethod
    /// The proxy does not accept user and password; its status (RFC 1929 §2).
    case loginRefused(UInt8)
    /// The proxy refuses the request; its reply (RFC 1928 §6).
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
