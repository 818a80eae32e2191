// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The reason why a token endpoint did not provide a token. It never contains secrets, neither those that were sent nor
/// those that were received.
@nonexhaustive
public enum OAuth2Error: Error, Sendable, CustomStringConvertible {
  /// The refusal of a token endpoint (RFC 6749 §5.2).
  public struct Refusal: Sendable, Hashable {
    /// `error`: `invalid_request`, `invalid_client`, `invalid_grant`, `unauthorized_client`, `unsupported_grant_type`,
    /// `invalid_scope`, or another word that the endpoint uses.
    public var error: String
    /// `error_description`, a text for developers; at most 500 characters.
    public var errorDescription: String?
    /// `error_uri`, a page about the error.
    public var errorURI: String?
    /// The status of the response.
    public var status: HTTPResponse.Status

    /// Creates a refusal.
    package init(
      error: String, errorDescription: String? = nil, errorURI: String? = nil,
      status: HTTPResponse.Status = .badRequest
    ) {
      self.error = error
      self.errorDescription = errorDescription
      self.errorURI = errorURI
      self.status = status
    }
  }

  /// The endpoint refused the request.
  case refused(Refusal)
  /// A 2xx response is not a token response (RFC 6749 §5.1), for the given reason.
  case invalidAnswer(String)
  /// The type of the token is not `Bearer`.
  case unsupportedTokenType(String)
  /// No refresh token is available.
  case noRefreshToken
  /// The exchange failed, or the response had another status and no OAuth 2 error. The error does not have the body of
  /// the response.
  case fetch(HTTPFetchError<any Error>)

  /// The refusal, if the endpoint refused the request.
  package var refusal: Refusal? {
    if case .refused(let refusal) = self { refusal } else { nil }
  }

  /// The error on one line, without secrets.
  public var description: String { cause + (failedFetch?.hint.map { " (\($0))" } ?? "") }

  /// The description without the hint of the failed fetch.
  var cause: String {
    switch self {
    case .refused(let refusal):
      "the token endpoint refused with \(refusal.status.code) \(refusal.error)"
        + (refusal.errorDescription.map { ": \($0)" } ?? "") + (refusal.errorURI.map { " (\($0))" } ?? "")
    case .invalidAnswer(let reason): "the token endpoint answered without a usable token (\(reason))"
    case .unsupportedTokenType(let type):
      "the token endpoint gave a token of type \(type), which is not supported (only Bearer is)"
    case .noRefreshToken: "a refresh token is missing (give one to OAuth2RefreshToken, or a token that has one)"
    case .fetch(let error):
      "the request to the token endpoint failed" + (error.request.map { " (\($0))" } ?? "") + ": \(error.line)"
    }
  }
}
