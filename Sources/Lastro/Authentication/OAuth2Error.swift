// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Why a token endpoint gave no token. It has no secrets in it: neither those that were sent nor those that came.
@nonexhaustive
public enum OAuth2Error: Error, Sendable, CustomStringConvertible {
  /// The endpoint refused (RFC 6749 §5.2).
  public struct Refusal: Sendable, Hashable {
    /// `error`: `invalid_request`, `invalid_client`, `invalid_grant`, `unauthorized_client`, `unsupported_grant_type`,
    /// `invalid_scope`, or a word of the endpoint's own.
    public var error: String
    /// `error_description`, for developers; at most 500 characters.
    public var errorDescription: String?
    /// `error_uri`, a page about the error.
    public var errorURI: String?
    /// The status of the answer.
    public var status: HTTPResponse.Status

    /// Makes a refusal; for tests.
    public init(
      error: String, errorDescription: String? = nil, errorURI: String? = nil,
      status: HTTPResponse.Status = .badRequest
    ) {
      self.error = error
      self.errorDescription = errorDescription
      self.errorURI = errorURI
      self.status = status
    }
  }

  /// The endpoint refused.
  case refused(Refusal)
  /// A 2xx answer that is not a token response (RFC 6749 §5.1), and why.
  case invalidAnswer(String)
  /// The token is of another type than `Bearer`.
  case unsupportedTokenType(String)
  /// There is no refresh token to ask with.
  case noRefreshToken
  /// The exchange failed, or brought another status without an OAuth 2 error. The error is without the answer's body.
  case fetch(HTTPFetchError<any Error>)

  /// The refusal, where it is one.
  public var refusal: Refusal? {
    if case .refused(let refusal) = self { refusal } else { nil }
  }

  /// The error on one line, without secrets.
  public var description: String { cause + (failedFetch?.hint.map { " (\($0))" } ?? "") }

  /// The description without the hint of the fetch that failed.
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
