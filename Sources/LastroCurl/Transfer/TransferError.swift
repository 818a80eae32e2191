// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroExchange
internal import LastroWire

extension TransportError {
  static let noHandle = TransportError(
    stage: .request, code: .engineFailure, message: "libcurl cannot make a handle: out of memory",
    hint: memoryHint)

  static func refusedByEngine(_ code: CURLMcode) -> TransportError {
    TransportError(
      stage: .request, code: .engineFailure, message: "libcurl refused the transfer: \(code.text)",
      hint: "report it, with what `lastro doctor` prints")
  }

  /// What libcurl's result means for this transfer.
  init(_ code: CURLcode, transfer: Transfer) {
    if let error = transfer.peer?.refusal(code, requestSent: transfer.requestSent) {
      self = error
      return
    }
    if let error = transfer.alertingPeer?.alertFailure(code, requestSent: transfer.requestSent) {
      self = error
      return
    }
    let facts = transfer.easy.facts(hasFailed: true)
    // The time is that of the connection before, where a request is sent again.
    let hasConnected = facts.connect > 0 && code != CURLE_COULDNT_CONNECT
    if let denial = transfer.egress?.failure(hasConnected: hasConnected, target: transfer.host.gate.target) {
      self = denial
      requestSent = transfer.requestSent
      return
    }
    let standing = transfer.standing
    let (stage, word, message, hint) = CurlCode.explain(
      CurlCode.common(code, standing, facts: facts), of: transfer.ends, facts: facts, isProxied: standing.isProxied,
      requestSent: standing.requestSent, hasHead: standing.hasHead, isChunked: transfer.machine.framing.isChunked)
    self.init(
      stage: stage, code: word, message: message, hint: hint, engineCode: Int32(bitPattern: code.rawValue),
      requestSent: transfer.requestSent)
  }

  static let rulesChangedBeforeResend = connectionLost(
    "the trust rules changed when the request was to be sent again")
  static let unsecuredBeforeResend = connectionLost(
    "the connection was not secured when the request was to be sent again")

  static let bodyMayBeCut = TransportError(
    stage: .response, code: .truncatedBody,
    message: "the connection ended without TLS close_notify: the body may be cut short",
    hint: "fetch again; the server's owner has to have it end TLS, or tell the body's length", engineCode: 0,
    requestSent: true)

  static func headMissing(requestSent: Bool) -> TransportError {
    TransportError(
      stage: .response, code: .malformedResponse, message: "the transfer ended without a complete response head",
      hint: cutHint, engineCode: 0, requestSent: requestSent)
  }
}

extension CURLMcode {
  /// libcurl's own words, and the number.
  var text: String { "\(String(cString: curl_multi_strerror(self))) (\(rawValue))" }
}

extension TransportError {
  static var framedInterimResponse: Self {
    HeadViolation(.contentLength, "an interim response has a framing field").transportError
  }

  static var noTrailers: Self {
    .refused(
      .unsupported, "libcurl's transfers send no trailers behind a body",
      hint: "leave the stack's carrier at .direct, or send the fields in the head")
  }
}
