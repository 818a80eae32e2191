// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

extension HTTP1Failure {
  /// Returns the failure as the error that the pipeline reports.
  ///
  /// - Parameters:
  ///   - isReset: whether the connection was reset rather than closed. Default false.
  ///   - isReused: whether the connection had served another request before. Default false.
  ///   - requestSent: whether bytes of the request may have been sent.
  package func transportError(isReset: Bool = false, isReused: Bool = false, requestSent: Bool) -> TransportError {
    var error: TransportError =
      switch kind {
      case .lostBeforeFirstByte where isReused && requestSent: .closedAfterSending
      case .lostBeforeFirstByte where isReset, .lostInHead where isReset: .resetBeforeAnswer
      case .lostBeforeFirstByte: HeadViolation.endsInHead.transportError
      case .lostInHead:
        HeadViolation(.endsInHead, "the connection ended within the response head").transportError
      case .truncated: isReset ? .resetInBody : HeadViolation.endsInBody.transportError
      case .answer(let violation): violation.transportError
      case .body(let violation): violation.transportError
      }
    error.requestSent = requestSent
    return error
  }
}
