// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// A failure of a first attempt, used to explain its consequence.
struct HypotheticalFailure {
  var name: String
  var error: HTTPFetchError<any Error>
  var requestSent: Bool

  /// Returns the failure as that of the first attempt of a call, before any time has passed.
  func attempt(_ request: ResourceRequest, total: Duration?) -> FailedAttempt {
    FailedAttempt(
      error: error, request: request, firstRequest: request, requestSent: requestSent,
      isBodyConsumed: requestSent && !request.body.isReplayable, timeLeft: total)
  }

  /// A failure of each kind.
  static let all: [HypotheticalFailure] =
    [
      transport("name not found", .resolve, .hostNotFound, sent: false),
      transport("no connection", .connect, .connectFailed, sent: false),
      transport("connection lost after sending", .response, .connectionLost),
      transport("body cut short", .response, .truncatedBody),
      transport("attempt or idle timeout", .timeout, .attemptTimeout),
      transport("total timeout", .timeout, .totalTimeout),
      transport("certificate refused", .tls, .untrustedCertificate, sent: false),
      transport("body too large", .limit, .bodyTooLarge),
    ] + [400, 401, 403, 404, 408, 409, 421, 425, 429].map { status($0) }
    + [status(429, retryAfter: 5)] + [500, 501, 502, 503, 504].map { status($0) } + [
      HypotheticalFailure(
        name: "body does not decode",
        error: HTTPFetchError(FailureRecord(.decode(DecodeFailure(Undecodable(), payload: "", metadata: 200)))),
        requestSent: true)
    ]

  /// The failure of a call that needs an access token and cannot get one.
  static let noToken: HypotheticalFailure = {
    let down = TransportError(stage: .connect, code: .connectFailed, message: "down")
    let error = OAuth2Error.fetch(HTTPFetchError(FailureRecord(.transport(down))))
    return HypotheticalFailure(
      name: "no access token: its endpoint is down", error: HTTPFetchError(FailureRecord(.noRequest(error))),
      requestSent: false)
  }()

  private struct Undecodable: Error {}

  private static func transport(
    _ name: String, _ stage: FailureStage, _ code: FailureCode, sent: Bool = true
  ) -> HypotheticalFailure {
    let error = TransportError(stage: stage, code: code, message: name, requestSent: sent)
    return HypotheticalFailure(name: name, error: HTTPFetchError(FailureRecord(.transport(error))), requestSent: sent)
  }

  private static func status(_ code: Int, retryAfter: Int? = nil) -> HypotheticalFailure {
    let status = HTTPResponse.Status(code: code)
    var head = HTTPResponse(status: status)
    if let retryAfter { head.headerFields[.retryAfter] = String(retryAfter) }
    return HypotheticalFailure(
      name: "status \(code)" + (retryAfter.map { ", Retry-After: \($0)" } ?? ""),
      error: HTTPFetchError(FailureRecord(.http(status), response: ResourceResponse(head: head, url: ""))),
      requestSent: true)
  }
}
