// SPDX-License-Identifier: Apache-2.0

/// What a ``LoopbackObfs4Server`` does: by default what obfs4proxy does, with an echo behind it.
public struct LoopbackObfs4Behavior: Sendable {
  /// What streams lead to.
  public enum Target: Sendable, Hashable {
    /// Sends back what comes.
    case echo
    /// A port of 127.0.0.1.
    case port(Int)
  }

  /// What is wrong with the handshake.
  public enum HandshakeFault: Sendable, Hashable {
    /// One bit of the response's mark is changed: the client waits for 8,192 bytes.
    case wrongMark
    /// One bit of the response's MAC is changed.
    case wrongMAC
    /// One bit of the proof is changed, under a right MAC.
    case wrongAuthentication
    /// The MAC is made over another hour than the client's.
    case wrongHour
    /// 8,192 zeros instead of a response.
    case garbage
    /// No answer, until the client goes away.
    case silence
    /// FIN instead of a response.
    case end
    /// A reset instead of a response.
    case reset
  }

  /// Default ``Target/echo``.
  public var target = Target.echo
  /// How what is sent is padded and timed: obfs4's `iat-mode`, 0, 1 or 2; others are 0. Default 0.
  public var timing = 0
  /// How much further the server's clock is than the time it is given. Default 0.
  public var hoursAhead = 0
  /// Default none.
  public var handshakeFault: HandshakeFault?
  /// Bytes of padding in the response; real servers send up to 8,051, and clients take up to 8,096. Default: drawn.
  public var responsePadding: Int?
  /// What is sent in one write with the response. Default: a seed for the client's tables, drawn.
  public var opening = [LoopbackObfs4Step.drawnSeed]
  /// What is sent when the first bytes of the application have come, instead of leading them to the target. Default:
  /// they are led.
  public var reply: [LoopbackObfs4Step]?
  /// Bytes that are written at a time. Default: all.
  public var pieceBytes = Int.max
  /// Number of bytes after which the connection ends with FIN, the response counted. Default: never.
  public var cutAfter: Int?

  /// As obfs4proxy, with an echo behind it.
  public init() {}
}

/// A frame, or an end, that a ``LoopbackObfs4Server`` sends.
public enum LoopbackObfs4Step: Sendable, Hashable {
  /// A frame with bytes for the application, and zeros behind them; 1,427 together at most.
  case payload([UInt8], padding: Int = 0)
  /// A frame with a seed for the client's tables, of 24 bytes.
  case seed([UInt8])
  /// A frame with a seed of the server's choice.
  case drawnSeed
  /// A frame around a packet as it is: type, length in two bytes, payload, padding.
  case packet([UInt8])
  /// A frame with bytes for the application, one bit of which is changed.
  case changed([UInt8])
  /// A frame whose head gives another length than it has.
  case length(Int, box: [UInt8])
  /// The first bytes of a frame with bytes for the application.
  case part([UInt8], bytes: Int)
  /// FIN.
  case end
  /// A reset, which drops what has not arrived.
  case reset
}
