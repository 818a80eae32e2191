// SPDX-License-Identifier: Apache-2.0

public import LastroTunnels

/// What a ``LoopbackShadowsocksServer`` does: by default what shadowsocks-libev does, with an echo behind it.
public struct LoopbackShadowsocksBehavior: Sendable {
  /// What streams lead to.
  public enum Target: Sendable, Hashable {
    /// Sends back what comes.
    case echo
    /// A port of 127.0.0.1.
    case port(Int)
    /// The port that the client asks for, of 127.0.0.1, whatever host it asks for.
    case asked
  }

  /// What is wrong with the answer.
  public enum Fault: Sendable, Hashable {
    /// No answer, until the client goes away: as to a wrong password.
    case silence
    /// FIN instead of an answer: as where the target is not reached.
    case end
    /// A reset instead of an answer.
    case reset
    /// 200 zeros instead of an answer.
    case garbage
    /// The answer is sealed with another password.
    case anotherPassword
    /// The answer begins with the client's own salt.
    case clientsSalt
    /// What the client sends is sent back to it, byte by byte.
    case reflection
  }

  /// Default `chacha20-ietf-poly1305`.
  public var method = ShadowsocksServer.Method.chaCha20Poly1305
  /// Default `test-password`.
  public var password = "test-password"
  /// Default ``Target/echo``.
  public var target = Target.echo
  /// Default none.
  public var fault: Fault?
  /// What is sent once the client has said where it wants to. Default: nothing, as long as the target says nothing.
  public var opening: [LoopbackShadowsocksStep] = []
  /// What is sent when bytes of the application have come, instead of leading them to the target. Default: they are
  /// led.
  public var reply: [LoopbackShadowsocksStep]?
  /// Bytes that are written at a time. Default: all.
  public var pieceBytes = Int.max
  /// Number of bytes after which the connection ends with FIN. Default: never.
  public var cutAfter: Int?

  /// As shadowsocks-libev, with an echo behind it.
  public init() {}
}

/// A chunk, or an end, that a ``LoopbackShadowsocksServer`` sends.
public enum LoopbackShadowsocksStep: Sendable, Hashable {
  /// The salt alone, which else goes before the first chunk.
  case salt
  /// Bytes for the application, in chunks of 16,383 bytes at most.
  case payload([UInt8])
  /// A chunk with bytes for the application, one bit of which is changed.
  case changed([UInt8])
  /// A chunk with one bit of its length changed.
  case changedLength([UInt8])
  /// A chunk that gives any length, rightly sealed: 0, one with a reserved bit, or one that is not its own.
  case length(Int, payload: [UInt8])
  /// The first bytes of a chunk with bytes for the application.
  case part([UInt8], bytes: Int)
  /// FIN.
  case end
  /// A reset, which drops what has not arrived.
  case reset
}
