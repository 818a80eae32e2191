// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

extension HTTP1Failure {
  /// The failure as the pipeline tells it.
  ///
  /// - Parameter source: what the source of the body threw.
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
