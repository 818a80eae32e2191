// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroWire

extension TransportError {
  static func bodyTooLarge(_ limit: Int) -> TransportError { HeadViolation.bodyTooLarge(limit).transportError }

  /// - Parameter announced: its length, as the head tells it.
  static func bodyTooLarge(_ limit: Int, announced: Int64) -> TransportError {
    HeadViolation.bodyTooLarge(limit, announced: announced).transportError
  }

  static func decompressionBomb(ratio: Int, delivered: Int64) -> TransportError {
    TransportError(
      stage: .limit, code: .decompressionBomb,
      message: "the compressed body expands to more than \(ratio) times its size, after \(delivered) bytes",
      hint: "raise maximumDecompressionRatio if the server is trusted", requestSent: true)
  }

  static func queueFull(_ limit: Int) -> TransportError {
    TransportError(
      stage: .limit, code: .queueFull, message: "\(limit) requests wait already",
      hint: "send less at once, or raise maximumQueuedRequests")
  }

  static func connectionLost(_ message: String) -> TransportError {
    TransportError(
      stage: .send, code: .connectionLost, message: message,
      hint: "the server may have acted on it; mark the request idempotent to allow sending it again",
      requestSent: true)
  }

  static let unsteadyTrust = TransportError(
    stage: .trust, code: .trustRefused,
    message: "the rules of trust changed again and again before the request was sent",
    hint: "let ServerTrustJudge.revision change only when the rules do")

  static let noHandle = TransportError(
    stage: .request, code: .engineFailure, message: "libcurl cannot make a handle: out of memory")

  static func refusedByEngine(_ code: CURLMcode) -> TransportError {
    TransportError(
      stage: .request, code: .engineFailure, message: "libcurl refused the transfer (\(code.rawValue))")
  }

  static let shutDown = TransportError(
    stage: .cancelled, code: .shutDown, message: "the stack was shut down")

  static func expiredInQueue(_ job: TransferJob) -> TransportError {
    TransportError(
      stage: .timeout, code: job.request.deadlineCode,
      message: "the deadline passed while the request waited for a connection",
      hint: "raise the deadline or connectionsPerHost, or send less at once")
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
    let standing = transfer.standing
    let (stage, word, message, hint) = CurlCode.explain(
      CurlCode.common(code, standing, facts: facts), facts: facts, isProxied: standing.isProxied,
      requestSent: standing.requestSent, hasHead: standing.hasHead, isChunked: transfer.machine.framing.isChunked)
    self.init(
      stage: stage, code: word, message: message, hint: hint, engineCode: Int32(bitPattern: code.rawValue),
      requestSent: transfer.requestSent)
  }

  /// A deadline passed; which one, and where the transfer stood.
  static func timedOut(_ transfer: Transfer, now: Int64) -> TransportError {
    if now < transfer.job.expiresAt, now >= transfer.connectExpiresAt {
      return TransportError(
        stage: .timeout, code: .connectTimeout, message: "no connection within the connect limit")
    }
    let isIdle = now < transfer.job.expiresAt
    let code = isIdle ? FailureCode.idleTimeout : transfer.job.request.deadlineCode
    let place =
      transfer.isDelivered
      ? "while the body's source did not end after the last byte announced"
      : transfer.response != nil
        ? "while receiving the body"
        : transfer.requestSent ? "while waiting for the response" : "before the request was sent"
    return TransportError(
      stage: .timeout, code: code,
      message: isIdle ? "no byte moved for the idle limit, \(place)" : "the deadline passed \(place)",
      requestSent: transfer.requestSent)
  }
}
