// SPDX-License-Identifier: Apache-2.0

/// The behavior of a ``LoopbackObfs4Server``: by default that of obfs4proxy, with an echo behind it.
package struct LoopbackObfs4Behavior: Sendable {
  /// A fault in the handshake.
  package enum HandshakeFault: Sendable, Hashable {
    /// A bit of the response's mark is changed: the client waits for 8,192 bytes.
    case wrongMark
    /// A bit of the response's MAC is changed.
    case wrongMAC
    /// A bit of the proof is changed, while the MAC is correct.
    case wrongAuthentication
    /// The MAC is computed for a different hour than the client's.
    case wrongHour
    /// 8,192 zeros are sent instead of a response.
    case garbage
    /// No response is sent until the client goes away.
    case silence
    /// FIN is sent instead of a response.
    case end
    /// The connection is reset instead of a response.
    case reset
  }

  /// The target of streams. Default: an echo.
  package var target = ObfuscatedRoute.echo
  /// The padding and timing of the output: obfs4's `iat-mode`, 0, 1 or 2; other values count as 0. Default 0.
  package var timing = 0
  /// The number of hours by which the server's clock is ahead of its time source. Default 0.
  package var hoursAhead = 0
  /// The fault in the handshake. Default: none.
  package var handshakeFault: HandshakeFault?
  /// The number of padding bytes in the response. Real servers send up to 8,051, and clients accept up to 8,096.
  /// Default: random.
  package var responsePadding: Int?
  /// The frames that are sent in one write with the response. Default: a random seed for the client's tables.
  package var opening = [LoopbackObfs4Step.drawnSeed]
  /// The frames that are sent when the first bytes of the application arrive, instead of forwarding these bytes to the
  /// target. Default: the bytes are forwarded.
  package var reply: [LoopbackObfs4Step]?
  /// The number of bytes per write. Default: all.
  package var pieceBytes = Int.max
  /// The number of sent bytes, including the response, after which the connection ends with FIN. Default: never.
  package var cutAfter: Int?

  /// Creates the behavior of obfs4proxy, with an echo behind it.
  package init() {}
}
