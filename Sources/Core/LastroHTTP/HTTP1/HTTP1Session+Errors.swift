// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension HTTP1Session {
  /// Returns a failure of the machine as the caller sees it.
  ///
  /// - Parameter isReset: whether the connection was reset, instead of ended.
  func transportError(_ failure: HTTP1Failure, of exchange: Exchange, isReset: Bool = false) -> TransportError {
    var error: TransportError
    switch failure.kind {
    case .lostBeforeFirstByte where connection.isReused && exchange.requestSent: error = .closedAfterSending
    case .lostBeforeFirstByte, .lostInHead:
      error = isReset ? .resetBeforeAnswer : failure.transportError()
    case .truncated: error = isReset ? .resetInBody : failure.transportError()
    case .answer, .body, .source: error = failure.transportError()
    }
    error.requestSent = exchange.requestSent
    return error
  }
}
