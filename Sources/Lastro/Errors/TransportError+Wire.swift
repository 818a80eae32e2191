// SPDX-License-Identifier: Apache-2.0

package import LastroWire

extension HeadViolation {
  /// The answer's fault, as the pipeline tells it. The one place where it is decided what a violation is called.
  package var transportError: TransportError {
    let (stage, code): (FailureStage, FailureCode) =
      switch kind {
      case .headTooLarge, .tooManyFields: (.limit, .headTooLarge)
      case .tooManyInterimResponses: (.limit, .tooManyInterimResponses)
      case .bodyTooLarge: (.limit, .bodyTooLarge)
      case .endsInHead: (.response, .connectionLost)
      case .endsInBody: (.response, .truncatedBody)
      case .lineEnd, .statusLine, .fieldName, .fieldValue, .contentLength, .transferEncoding, .unexpectedUpgrade:
        (.response, .malformedResponse)
      }
    let hint = kind == .bodyTooLarge ? "raise maximumBodyBytes, or stream the body" : nil
    return TransportError(stage: stage, code: code, message: message, hint: hint, requestSent: true)
  }
}

extension RequestViolation {
  /// A refusal of the request, before anything is sent.
  package var transportError: TransportError {
    let code: FailureCode =
      switch kind {
      case .method: .invalidMethod
      case .target: .invalidURL
      case .fieldName, .fieldValue, .host: .invalidHeader
      case .framing: .conflictingFraming
      }
    return .refused(code, message)
  }
}
