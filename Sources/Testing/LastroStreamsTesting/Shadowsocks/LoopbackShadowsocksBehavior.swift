// SPDX-License-Identifier: Apache-2.0

package import LastroTunnels

/// The behavior of a ``LoopbackShadowsocksServer``: by default that of shadowsocks-libev, with an echo behind it.
package struct LoopbackShadowsocksBehavior: Sendable {
  package typealias Target = LoopbackShadowsocksServer.Target

  /// A fault in the response.
  package enum Fault: Sendable, Hashable {
    /// No response is sent until the client goes away, as for a wrong password.
    case silence
    /// FIN is sent instead of a response, as if the target could not be reached.
    case end
    /// The connection is reset instead of a response.
    case reset
    /// 200 zeros are sent instead of a response.
    case garbage
    /// The response is sealed with another password.
    case anotherPassword
    /// The response begins with the client's own salt.
    case clientsSalt
    /// The client's bytes are sent back to it unchanged.
    case reflection
  }

  /// The encryption method. Default `chacha20-ietf-poly1305`.
  package var method = ShadowsocksServer.Method.chaCha20Poly1305
  /// The password. Default `test-password`.
  package var password = "test-password"
  /// The target of streams. Default: an echo.
  package var target = Target.echo
  /// The fault in the response. Default: none.
  package var fault: Fault?
  /// The chunks that are sent once the client has named its target. Default: none until the target sends bytes.
  package var opening: [LoopbackShadowsocksStep] = []
  /// The chunks that are sent when bytes of the application arrive, instead of forwarding these bytes to the target.
  /// Default: the bytes are forwarded.
  package var reply: [LoopbackShadowsocksStep]?
  /// The number of bytes per write. Default: all.
  package var pieceBytes = Int.max
  /// The number of sent bytes after which the connection ends with FIN. Default: never.
  package var cutAfter: Int?

  /// Creates the behavior of shadowsocks-libev, with an echo behind it.
  package init() {}
}

/// A chunk, or an end of the connection, that a ``LoopbackShadowsocksServer`` sends.
package enum LoopbackShadowsocksStep: Sendable, Hashable {
  /// The salt alone, which otherwise precedes the first chunk.
  case salt
  /// Bytes for the application, in chunks of at most 16,383 bytes.
  case payload([UInt8])
  /// A chunk with bytes for the application, with one bit changed.
  case changed([UInt8])
  /// A chunk with one bit of its length changed.
  case changedLength([UInt8])
  /// A correctly sealed chunk with a wrong length field: 0, with a reserved bit, or not the payload's.
  case length(Int, payload: [UInt8])
  /// The first bytes of a chunk with bytes for the application.
  case part([UInt8], bytes: Int)
  /// FIN.
  case end
  /// A reset, which drops bytes that have not arrived.
  case reset
}
