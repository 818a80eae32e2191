// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension TransportError {
  /// Returns the error of a deadline that passed: which one, and the stage that the exchange had reached.
  static func timedOut(
    _ exchange: ResponseReceiver, isDelivered: Bool, connectExpiresAt: Int64, now: Int64
  ) -> TransportError {
    let job = exchange.job
    if now < job.expiresAt, !exchange.requestSent, now >= connectExpiresAt {
      return .connectTimedOut(job.request)
    }
    let isIdle = now < job.expiresAt
    let place: TransferPlace =
      isDelivered ? .sourceOpen : exchange.response != nil ? .body : exchange.requestSent ? .response : .unsent
    return .late(isIdle: isIdle, place, of: job.request)
  }
}
