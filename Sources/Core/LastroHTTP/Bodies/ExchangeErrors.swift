// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroWire

/// Failures that do not depend on the version of HTTP.
extension TransportError {
  /// - Parameter announced: the length of the body, if the head announces it. Default `nil`.
  package static func bodyTooLarge(_ limit: Int, announced: Int64? = nil) -> TransportError {
    let message =
      announced.map { "the server announces a body of \($0.counted("byte")), and at most \(limit) are taken" }
      ?? "the body exceeds \(limit.counted("byte"))"
    return TransportError(
      stage: .limit, code: .bodyTooLarge, message: message, hint: "raise maximumBodyBytes, or stream the body",
      requestSent: true)
  }

  package static func decompressionBomb(ratio: Int, delivered: Int64) -> TransportError {
    TransportError(
      stage: .limit, code: .decompressionBomb,
      message: "the compressed body expands to more than \(ratio) times its size, after \(delivered) bytes",
      hint: "raise maximumDecompressionRatio if the server is trusted", requestSent: true)
  }

  package static func queueFull(_ limit: Int) -> TransportError {
    TransportError(
      stage: .limit, code: .queueFull, message: "the queue is full, with \(limit.counted("request"))",
      hint: "send less at once, or raise maximumQueuedRequests")
  }

  package static let unsteadyTrust = TransportError(
    stage: .trust, code: .trustRefused,
    message: "the trust rules changed repeatedly before the request was sent",
    hint: "let ServerTrustJudge.revision change only when the rules do")

  package static let shutDown = TransportError(
    stage: .cancelled, code: .shutDown, message: "the application shut the stack down",
    hint: "make a new stack, or let this one live until its calls are done")

  /// - Parameter request: the request that waited.
  package static func expiredInQueue(_ request: TransferRequest) -> TransportError {
    var error = deadlinePassed(
      request.deadlineCode, of: request.wholeTimeout ?? request.deadline, "while the request waited for a connection",
      requestSent: false)
    error.hint = "raise that timeout or connectionsPerHost, or send less at once"
    return error
  }

  package static let closedAfterSending = TransportError(
    stage: .send, code: .connectionLost,
    message: "the connection was closed after the request was sent and before a response came",
    hint: "the server may have acted on it; mark the request idempotent to allow sending it again", requestSent: true)

  package static let bodyBeforeHead = TransportError(
    stage: .response, code: .malformedResponse, message: "a body came before a complete response head",
    hint: "report it: this is a fault of Lastro or of libcurl", requestSent: true)

  package static func sourceFailed(_ error: any Error) -> TransportError {
    .refused(.invalidBody, "the body's source failed: \(error)", hint: "see the error that the source threw")
  }

  package static func sourceTooShort(_ sent: Int64, of length: Int64) -> TransportError {
    refused(
      .invalidBody, "the body ended after \(sent) of the \(length.counted("byte")) announced",
      hint: "announce the true length, or none")
  }

  /// Returns the error for a request whose connection was not ready in time.
  package static func connectTimedOut(_ request: TransferRequest) -> TransportError {
    dialTimedOut(to: request.head.authority ?? "the server", within: request.connectTimeout)
  }

  /// - Parameters:
  ///   - isIdle: whether the idle timeout passed, and not the limit of the whole transfer.
  ///   - place: the stage that the transfer had reached.
  ///   - request: the request of the transfer.
  package static func late(isIdle: Bool, _ place: ExchangeStage, of request: TransferRequest) -> TransportError {
    let words = place.words(with: request.head.authority)
    guard isIdle else {
      return deadlinePassed(
        request.deadlineCode, of: request.wholeTimeout ?? request.deadline, words, requestSent: place != .unsent)
    }
    if let first = request.firstElement, !first.hasArrived, place == .response || place == .body {
      return first.failure(": no byte moved \(words)")
    }
    return TransportError(
      stage: .timeout, code: .idleTimeout,
      message: "no byte moved for \(request.idleTimeout?.brief ?? "the idle timeout") \(words)",
      hint: "raise Timeouts.idle if such a pause is expected", requestSent: place != .unsent)
  }

  package static func sourceTooLong(_ length: Int64) -> TransportError {
    .refused(
      .invalidBody, "the body is longer than the \(length.counted("byte")) announced",
      hint: "announce the true length, or none; a file must not change while it is sent")
  }

  /// The same error for a request of which bytes were sent.
  var afterSending: TransportError {
    var error = self
    error.requestSent = true
    return error
  }

  package static let goneBeforeSending = TransportError(
    stage: .response, code: .connectionLost, message: "the connection ended before the request was sent",
    hint: "fetch again: nothing was sent")

  package static let unexpectedTunnel = TransportError(
    stage: .response, code: .malformedResponse, message: "the server switched protocols, which was not requested",
    hint: "the server does not follow HTTP: report it to its owner", requestSent: true)

  package static let resetBeforeAnswer = TransportError(
    stage: .response, code: .connectionLost, message: "the connection was reset before a response came",
    hint: cutHint)

  package static let resetInBody = TransportError(
    stage: .response, code: .truncatedBody, message: "the connection was reset before the body ended",
    hint: cutHint)
}

/// The stage that an exchange had reached when its time limit passed.
package enum ExchangeStage: String, CaseIterable {
  case sourceOpen = "while the body's source did not end after the last byte announced"
  case body = "while receiving the body"
  case response = "while waiting for the response"
  case unsent = "before the request was sent"

  /// Returns the text, with the server's name if the server was expected to act next.
  fileprivate func words(with authority: String?) -> String {
    guard let authority, self != .sourceOpen else { return rawValue }
    return "\(rawValue) \(self == .unsent ? "to" : "from") \(authority)"
  }
}

extension BodyCut {
  /// The cut of a response that is accepted without its body.
  package static let unread = Self(stage: .limit, code: .bodyTooLarge, message: "it was not read")

  /// The cut of an error response whose body takes too long.
  package static let late = Self(
    stage: .response, code: .truncatedBody, message: "it did not end within the time limit for error bodies")
}
