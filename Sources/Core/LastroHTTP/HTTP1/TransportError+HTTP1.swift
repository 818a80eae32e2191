// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

extension HTTP1Failure {
  /// Returns the failure as the error that the pipeline reports.
  ///
  /// - Parameter source: the error that the source of the body threw. Default none.
  package func transportError(source: TransportError? = nil) -> TransportError {
    var error =
      switch kind {
      case .lostBeforeFirstByte: HeadViolation.endsInHead.transportError
      case .lostInHead:
        HeadViolation(.endsInHead, "the connection ended within the response head").transportError
      case .truncated: HeadViolation.endsInBody.transportError
      case .answer(let violation): violation.transportError
      case .body(let violation): violation.transportError
      case .source: source ?? .refused(.invalidBody, "the body's source failed", hint: "look at what the source threw")
      }
    error.requestSent = requestSent
    return error
  }
}
