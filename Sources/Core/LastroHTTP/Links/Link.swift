// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// An open way to a server: an ``HTTPConnection`` reads and writes over it.
///
/// Thread: the loop's. No function blocks. What comes of readiness is reported to the ``LinkUser``, never from within a
/// call of its own.
package protocol Link: AnyObject {
  /// The facts of the dial.
  var facts: LinkFacts { get }

  /// Whether the rules in force are those that it was dialed under.
  var isCurrent: Bool { get }

  /// Decides whether bytes for a target may go out on it. Asked before every request.
  func admit(_ target: TrustTarget) -> LinkAdmission

  /// Sets the user, which closes the link before it goes. From here on the peer's end is reported, and bytes that no
  /// request asked for.
  func attach(_ user: any LinkUser)

  /// Reads the bytes that have come, once.
  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep

  /// Whether a write would be accepted, as far as is known. Until then nothing is gathered for it: what may be sent is
  /// decided when it is.
  var acceptsWrites: Bool { get }

  /// Writes as much as is accepted now.
  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep

  /// The reason of the latest ``LinkStep/failed``.
  var failure: TransportError? { get }

  /// Sets which kinds of readiness are reported.
  func watch(read: Bool, write: Bool)

  /// Whether there may be something to read of which no readiness is reported.
  var hidesInput: Bool { get }

  /// Whether there may be something to read, be it the end.
  var hasInput: Bool { get }

  /// Whether the latest read may have left something that no readiness is reported of.
  var mayHaveMore: Bool { get }

  /// Whether something has come that no request asked for, be it the end.
  ///
  /// - Parameters:
  ///   - scratch: memory to read into.
  ///   - isHeard: whether readiness would have been reported by now.
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool

  /// Returns how far bytes have come that were sent; `nil` where that is not known.
  func delivery(now: Int64) -> LinkDelivery?

  /// Ends HTTP on the link, which becomes a stream.
  ///
  /// - Parameter early: bytes that came behind the last response.
  /// - Returns: `nil` while a write is under way, whose end is reported as readiness, or where the link cannot.
  func handOver(early: [UInt8]) -> (any ByteStream)?

  func close()
}

/// The user of a ``Link``, which hears of its readiness.
package protocol LinkUser: AnyObject {
  func ready(readable: Bool, writable: Bool)
}

/// The outcome of a read or a write.
package enum LinkStep {
  case moved(Int)
  /// Nothing at the moment; readiness is reported.
  case wait
  /// The peer's direction has ended: by close_notify, where there is TLS, or not.
  case end(isClean: Bool)
  /// See ``Link/failure``.
  case failed
}

/// Whether something may be sent on a ``Link``.
package enum LinkAdmission {
  case admitted(TrustVerdict)
  /// Rules have changed since it was dialed: nothing more goes out on it.
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
  /// Whether bytes pass through TLS, be it to a proxy only.
  package var hasTLS = false
  /// Whether a read that does not fill its memory has taken all that had come.
  package var readsWhole = false
  /// Whether the peer that acknowledges bytes is a proxy, which does so whatever has become of the server.
  package var isProxied = false
  /// Bytes that came before anything was sent.
  package var early: [UInt8] = []
  /// The reason why it carries nothing although it is open.
  package var earlyEnd: TransportError?

  package init() {}
}
