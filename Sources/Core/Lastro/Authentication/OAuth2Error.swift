// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The reason why a token endpoint did not provide a token. It never contains secrets, neither those that were sent nor
/// those that were received.
@nonexhaustive
public enum OAuth2Error: Error, Sendable, CustomStringConvertible {
  /// The endpoint refused the request (RFC 6749 §5.2), with a status and the word `error`: `invalid_request`,
  /// `invalid_client`, `invalid_grant`, `unauthorized_client`, `unsupported_grant_type`, `invalid_scope`, or another
  /// word that the endpoint uses. The description, for developers, has the endpoint's `error_description` and
  /// `error_uri`, each at most 500 characters; `nil` if the response has neither.
  case refused(HTTPResponse.Status, error: String, description: String?)
  /// A 2xx response is not a token response (RFC 6749 §5.1), for the given reason.
  case invalidAnswer(String)
  /// The type of the token is neither `Bearer` nor `DPoP`.
  case unsupportedTokenType(String)
  /// No refresh token is available.
  case noRefreshToken
  /// The exchange failed, or the response had another status and no OAuth 2 error. The error does not have the body of
  /// the response.
  case fetch(HTTPFetchError<any Error>)

  /// The error on one line, without secrets.
  public var description: String { cause + (failedFetch?.hint.map { " (\($0))" } ?? "") }

  /// The description without the hint of the failed fetch.
  var cause: String {
    switch self {
    case .refused(let status, let error, let description):
      "the token endpoint refused with \(status.code) \(error)" + (description.map { ": \($0)" } ?? "")
    case .invalidAnswer(let reason): "the token endpoint answered without a usable token (\(reason))"
    case .unsupportedTokenType(let type):
      "the token endpoint gave a token of type \(type), which is not supported (Bearer and DPoP are)"
    case .noRefreshToken:
      "a refresh token is missing (give one to OAuth2Client.refreshToken(…), or a token that has one)"
    case .fetch(let error):
      "the request to the token endpoint failed" + (error.request.map { " (\($0))" } ?? "") + ": \(error.line)"
    }
  }
}
