// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

extension HTTP1Failure {
  /// Returns the failure as the error that the pipeline reports.
  package var transportError: TransportError {
    var error =
      switch kind {
      case .lostBeforeFirstByte: HeadViolation.endsInHead.transportError
      case .lostInHead:
        HeadViolation(.endsInHead, "the connection ended within the response head").transportError
      case .truncated: HeadViolation.endsInBody.transportError
      case .answer(let violation): violation.transportError
      case .body(let violation): violation.transportError
      }
    error.requestSent = requestSent
    return error
  }
}
