// SPDX-License-Identifier: Apache-2.0

package import LastroWire

extension HeadViolation {
  /// The response's fault as a transport error. The mapping from violations to codes is only here.
  package var transportError: TransportError {
    let (stage, code): (FailureStage, FailureCode) =
      switch kind {
      case .headTooLarge, .tooManyFields: (.limit, .headTooLarge)
      case .tooManyInterimResponses: (.limit, .tooManyInterimResponses)
      case .bodyTooLarge: (.limit, .bodyTooLarge)
      case .endsInHead: (.response, .connectionLost)
      case .endsInBody: (.response, .truncatedBody)
      default: (.response, .malformedResponse)
      }
    let hint =
      switch kind {
      case .bodyTooLarge: "raise maximumBodyBytes, or stream the body"
      case .headTooLarge, .tooManyFields: "raise maximumHeadBytes or maximumHeaderFields if the server is trusted"
      case .tooManyInterimResponses: "raise maximumInterimResponses if the server is trusted"
      case .endsInHead, .endsInBody: TransportError.cutHint
      default: "the server does not follow HTTP: report it to its owner, or check that the port is that of HTTP"
      }
    return TransportError(stage: stage, code: code, message: message, hint: hint, requestSent: true)
  }
}

extension RequestViolation {
  /// The refusal of a request before anything is sent.
  package var transportError: TransportError {
    let (code, hint): (FailureCode, String) =
      switch kind {
      case .method: (.invalidMethod, "write a word such as GET, in upper case")
      case .target: (.invalidURL, "percent-encode what a URL cannot have")
      case .fieldName, .fieldValue: (.invalidHeader, "leave it out, or encode it")
      case .host, .trailer: (.invalidHeader, "give it in the head, once, and well-formed")
      case .framing: (.conflictingFraming, "leave it out: the body knows its length")
      case .body: (.invalidBody, "announce the true length, or none")
      }
    return .refused(code, message, hint: hint)
  }
}
