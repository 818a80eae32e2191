// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Runs an exchange on a connection: sends its request, and hands it the response.
///
/// Over HTTP/1.1 the connection's session runs one exchange after the other (``HTTP1Session``); over HTTP/2 each has a
/// stream of its own (``HTTP2Call``). Thread: the loop's.
protocol ExchangeRunner: AnyObject {
  var connection: HTTPConnection { get }

  /// The bytes of the request's body that were sent, or are about to be.
  var handedOver: Int { get }

  /// Whether no other exchange writes on the connection.
  var isAlone: Bool { get }

  /// The time at which bytes were handed to the connection last, where ``Exchange/lastActivity`` does not include it.
  var handedOutAt: Int64 { get }

  /// The time that a redirect may wait for the rest of its body before the job is answered with its head; `nil` where
  /// the connection cannot be used again, so that none of the body is read. Zero where other requests need not wait for
  /// the connection.
  var redirectPatience: Duration? { get }

  /// The time of its next look at the exchange, beside the limits of the exchange itself.
  var nextLook: Int64 { get }

  /// Looks at the exchange, if it is time.
  ///
  /// - Returns: false where the limits of the exchange are what has come.
  func look(now: Int64) -> Bool

  /// The exchange ends, for a limit has passed.
  func limitPassed(now: Int64)

  /// The reader takes the body again.
  func resumeReceiving()

  /// The source of the request's body has more, or has ended.
  func resumeSending()

  /// The job is answered, and only the rest of the body is read.
  func answeredAtHead()

  /// Leaves the connection, which serves others where it can.
  func leave(_ failure: TransportError?)

  /// Lets go of the exchange, which will run elsewhere, whatever becomes of the connection.
  func detach()
}
