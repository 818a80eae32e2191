// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro

/// An open connection to a server, over which an ``HTTPConnection`` reads and writes.
///
/// Thread: the loop's. No function blocks. Readiness is reported to the ``LinkUser``, but never from within a call that
/// the user makes.
package protocol Link: AnyObject {
  /// The facts of the dial.
  var facts: LinkFacts { get }

  /// Whether the trust rules in force are still those that the link was dialed under.
  var isCurrent: Bool { get }

  /// Decides whether bytes for a target may be sent on the link. Called before every request.
  func admit(_ target: TrustTarget) -> LinkAdmission

  /// Sets the user, which must close the link before the user is released. From now on, the end of the peer's direction
  /// is reported, and so are bytes that no request asked for.
  func attach(_ user: any LinkUser)

  /// Reads the bytes that have arrived, once.
  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep

  /// Whether a write would be accepted, as far as is known. While it is false, no bytes are collected for the next
  /// write, because the decision whether they may be sent is made when they are collected.
  var acceptsWrites: Bool { get }

  /// Writes as many bytes as are accepted now.
  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep

  /// The error of the latest ``LinkStep/failed``, or the reason why bytes were lost.
  var failure: TransportError? { get }

  /// Whether bytes that the link had accepted could not be sent. It is reported as readiness to write, even if only
  /// reading is watched.
  var hasLostBytes: Bool { get }

  /// Sets the kinds of readiness that are reported.
  func watch(read: Bool, write: Bool)

  /// Whether there may be input, or the end, for which no readiness is reported.
  var hidesInput: Bool { get }

  /// Whether there may be input, or the end.
  var hasInput: Bool { get }

  /// Whether the latest read may have left input for which no readiness is reported.
  var mayHaveMore: Bool { get }

  /// Returns whether the peer has ended the link after a request, although there is no input yet. The connection must
  /// carry no further request.
  ///
  /// - Parameter isHeard: whether readiness would have been reported by now.
  func hasEndedUnseen(isHeard: Bool) -> Bool

  /// Returns whether input that no request asked for has arrived, or the end.
  ///
  /// - Parameters:
  ///   - scratch: memory to read into.
  ///   - isHeard: whether readiness would have been reported by now.
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool

  /// Returns the progress of the bytes that were sent; `nil` if it is not known.
  func delivery(now: Int64) -> LinkDelivery?

  /// Ends HTTP on the link, which becomes a stream.
  ///
  /// - Parameter early: bytes that arrived after the last response.
  /// - Returns: the stream; `nil` while a read or a write is in progress, whose end is reported as readiness, or if the
  ///   link cannot become a stream.
  func handOver(early: [UInt8]) -> (any ByteStream)?

  func close()
}

extension Link {
  package var hasLostBytes: Bool { false }
  package func hasEndedUnseen(isHeard: Bool) -> Bool { false }
}

/// The user of a ``Link``, which is notified of its readiness.
package protocol LinkUser: AnyObject {
  func ready(readable: Bool, writable: Bool)
}

/// The outcome of a read or a write.
package enum LinkStep {
  case moved(Int)
  /// No byte can be moved now. Readiness is reported.
  case wait
  /// The peer has ended its direction. `isClean` is false if the stream was cut off, such as TLS without close_notify.
  case end(isClean: Bool)
  /// The read or write failed with ``Link/failure``.
  case failed
}

/// The decision whether bytes may be sent on a ``Link``.
package enum LinkAdmission {
  case admitted(TrustVerdict)
  /// The trust rules have changed since the link was dialed, so nothing more may be sent on it.
  case outdated
  case refused(TransportError)
}

/// The facts of a dial.
package struct LinkFacts {
  package var remoteAddress: String?
  package var remotePort: Int?
  package var localPort: Int?
  /// The protocol that the server chose in the handshake (ALPN).
  package var applicationProtocol: String?
  /// The durations of the dial.
  package var timings = TransferFacts.Timings()
  /// Whether bytes pass through TLS, even if only to a proxy.
  package var hasTLS = false
  /// Whether a read that does not fill its memory has taken all bytes that had arrived.
  package var readsWhole = false
  /// Whether the peer that acknowledges bytes is a proxy. Its acknowledgements say nothing about the state of the
  /// server.
  package var isProxied = false
  /// The end of the validity of the client certificate that the server may have asked for; `nil` if there is none.
  package var clientCertificateEnd: Date?
  /// Bytes that arrived before anything was sent.
  package var early: [UInt8] = []
  /// The number of exchanges that the link carried before; above 0 for a replayed link alone.
  package var earlierExchanges = 0
  /// The reason why the link cannot be used although it was opened; `nil` if it can.
  package var earlyEnd: TransportError?

  /// Creates the facts of a link over a stream.
  package init(_ facts: StreamFacts = StreamFacts()) {
    remoteAddress = facts.remoteAddress
    remotePort = facts.remotePort
    localPort = facts.localPort
    applicationProtocol = facts.tls?.applicationProtocol
    hasTLS = facts.tls != nil
  }
}
