// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Requests that are sent again, because nothing of them was sent or because sending them twice does no harm.
extension HostPool {
  /// The maximum number of times that a request is sent again after its server said that it had not processed it. A
  /// server that restarts, or lowers its stream limit, may refuse a request more than once. The retries of the stack,
  /// which wait between attempts, come after that.
  private static let mostRefusals = 3

  /// Sends a request again if its reused connection ended before the first byte of a response: the server may have
  /// closed that connection without having seen the request (RFC 9112 §9.3.1).
  ///
  /// - Returns: false if the connection was new, or if the request may not be sent again.
  func sendAgain(_ exchange: Exchange) -> Bool {
    guard let connection = exchange.connection, connection.isReused, mayResend(exchange) else { return false }
    exchange.rewind()
    // The other idle connections may be about to close for the same reason.
    exchange.wantsFresh = true
    lose(connection)
    enter(exchange, isFront: true)
    return true
  }

  /// Sends a request again after its HTTP/2 stream ended.
  ///
  /// - Parameter isUnprocessed: whether the server said that it has not processed the request. A request of any method
  ///   may be sent again then.
  func sendAgain(_ exchange: Exchange, isUnprocessed: Bool) -> Bool {
    guard isUnprocessed || exchange.isOnReused, mayResend(exchange, isUnprocessed: isUnprocessed) else { return false }
    exchange.rewind()
    waitAgain(exchange)
    return true
  }

  /// Sends a request again without `Expect: 100-continue`, which the server refused (RFC 9110 §10.1.1), if nothing of
  /// its body was sent.
  func sendWithoutExpect(_ exchange: Exchange) -> Bool {
    guard exchange.job.resends == 0, exchange.upload.offset == 0, let connection = exchange.connection else {
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
    let job = exchange.job
    guard job.resends < (isUnprocessed ? Self.mostRefusals : 1), exchange.upload.canStartOver(job) else { return false }
    guard exchange.requestSent else {
      job.restarts += 1
      return job.restarts <= Self.mostRestarts
    }
    guard isUnprocessed || job.request.allowsResend else { return false }
    job.resends += 1
    if isUnprocessed { job.refusals += 1 }
    return true
  }
}
