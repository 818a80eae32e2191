// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension HTTP2Call {
  /// Returns the error of a stream that ended without a whole response.
  func transportError(_ ending: HTTP2Ending) -> TransportError {
    ending.transportError(hasResponse: exchange.receiver.response != nil, requestSent: exchange.requestSent) {
      lostConnection()
    }
  }

  private func lostConnection() -> TransportError {
    let cause = multiplexer.failure
    if let cause, cause.code != .receiveFailed, cause.code != .sendFailed { return cause }
    var error: TransportError
    switch (exchange.receiver.response == nil, exchange.isOnReused && exchange.requestSent, cause == nil) {
    case (true, true, _): error = .closedAfterSending
    case (true, false, true): error = HeadViolation.endsInHead.transportError
    case (true, false, false): error = .resetBeforeAnswer
    case (false, _, true): error = HeadViolation.endsInBody.transportError
    case (false, _, false): error = .resetInBody
    }
    error.systemCode = cause?.systemCode
    return error
  }
}
