// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Requests that go out once again: where nothing was sent of them, or where that does no harm.
extension HostPool {
  /// The most times that a request is sent again after the server said that it had not processed it. A server that
  /// restarts, or lowers its limit of streams, refuses some requests more than once. The stack's retries, which wait,
  /// come after that.
  private static let mostRefusals = 3

  /// Sends a request again, whose connection ended before a byte of an answer came: where it has served before, its
  /// server may have closed it without having seen this one (RFC 9112 §9.3.1).
  ///
  /// - Returns: false where that may not be, or could do harm.
  func sendAgain(_ exchange: Exchange) -> Bool {
    guard let connection = exchange.connection, connection.isReused, mayResend(exchange) else { return false }
    exchange.rewind()
    // What closed one idle connection may be about to close the others.
    exchange.wantsFresh = true
    lose(connection)
    enter(exchange, isFront: true)
    return true
  }

  /// The same for a request whose HTTP/2 stream is over.
  ///
  /// - Parameter isUnprocessed: whether the server said that it did nothing with it: any method may be sent again.
  func sendAgain(_ exchange: Exchange, isUnprocessed: Bool) -> Bool {
    guard isUnprocessed || exchange.isOnReused, mayResend(exchange, isUnprocessed: isUnprocessed) else { return false }
    exchange.rewind()
    waitAgain(exchange)
    return true
  }

  /// Sends a request again whose `Expect` the server did not want (RFC 9110 §10.1.1): nothing of its body has gone out.
  func sendWithoutExpect(_ exchange: Exchange) -> Bool {
    guard exchange.job.resends == 0, exchange.uploadOffset == 0, let connection = exchange.connection else {
      return false
    }
    mayExpect = false
    exchange.job.resends = 1
    exchange.rewind()
    lose(connection)
    waitAgain(exchange)
    return true
  }

  private func mayResend(_ exchange: Exchange, isUnprocessed: Bool = false) -> Bool {
    // A source that was read from cannot begin again.
    let job = exchange.job
    guard job.resends < (isUnprocessed ? Self.mostRefusals : 1), job.upload == nil || exchange.uploadOffset == 0 else {
      return false
    }
    if exchange.requestSent {
      guard isUnprocessed || job.request.allowsResend else { return false }
      job.resends += 1
      if isUnprocessed { job.refusals += 1 }
    }
    return true
  }
}
