// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Runs an exchange on a connection: sends its request, and passes it the response.
///
/// Over HTTP/1.1, the session of the connection runs one exchange after the other (``HTTP1Session``). Over HTTP/2, each
/// exchange has a stream of its own (``HTTP2Call``). Thread: the loop's.
protocol ExchangeRunner: AnyObject {
  var connection: HTTPConnection { get }

  /// The number of bytes of the request body that were sent, or are about to be.
  var committedBodyBytes: Int { get }

  /// Whether no other exchange writes to the connection.
  var isAlone: Bool { get }

  /// The time at which bytes were last written to the connection; `.min` if ``Exchange/lastActivity`` includes it.
  var handedOutAt: Int64 { get }

  /// The time that a redirect may wait for the rest of its body before the job is answered with its head. It is zero if
  /// other requests need not wait for the connection, and `nil` if the connection cannot be reused, so that none of the
  /// body is read.
  var redirectPatience: Duration? { get }

  /// The time of the runner's next look at the exchange, apart from the limits of the exchange itself.
  var nextLook: Int64 { get }

  /// Handles the runner's own timers of the exchange, if they are due.
  ///
  /// - Returns: false if no timer was due, or if the deadline of the job has passed, too.
  func look(now: Int64) -> Bool

  /// Reports that the exchange is about to end because a limit has passed.
  func limitPassed(now: Int64)

  /// Resumes receiving after the reader has room again.
  func resumeReceiving()

  /// Resumes sending after the source of the request body has given more bytes or has ended.
  func resumeSending()

  /// Reports that the job is answered, and only the rest of the body is read.
  func answeredAtHead()

  /// Leaves the connection, which serves other exchanges if it can.
  func leave(_ failure: TransportError?)

  /// Releases the exchange, which will run on another connection, whatever happens to this one.
  func detach()
}
