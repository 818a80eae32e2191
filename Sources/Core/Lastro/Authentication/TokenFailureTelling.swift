// SPDX-License-Identifier: Apache-2.0

// The stage is that of the cause, so that statistics by stage attribute network failures to the network. The code says
// that the token request failed, and not the request itself.

extension OAuth2Error: FailureTelling {
  var failure: TransportError {
    // Do not put a colon after "token": the redaction masks the text after it.
    let message = "the access token is missing, as \(cause)"
    switch self {
    case .fetch(let error): return error.failure(.tokenUnavailable, message)
    case .refused(_, let error, _):
      return TransportError(stage: .http, code: .tokenRefused, message: message, hint: Self.hint(for: error))
    case .invalidAnswer, .unsupportedTokenType: return .init(stage: .decode, code: .tokenUnavailable, message: message)
    case .noRefreshToken: return TransportError(stage: .request, code: .tokenUnavailable, message: message)
    }
  }

  var failedFetch: HTTPFetchError<any Error>? {
    if case .fetch(let error) = self { error } else { nil }
  }

  /// Returns the usual remedy for a refusal, if there is one (RFC 6749 §5.2).
  package static func hint(for error: String) -> String? {
    switch error {
    case "invalid_client":
      "check the client's id and secret, and how the endpoint expects them: OAuth2Client.Authentication"
    case "invalid_grant": "the grant, such as a refresh token, has expired or was revoked: get a new one"
    case "unauthorized_client", "unsupported_grant_type":
      "the client may not use this grant type: check its registration"
    case "invalid_scope": "ask for a scope that the client is registered for"
    default: nil
    }
  }
}

extension AccessTokenError: FailureTelling {
  var failure: TransportError {
    let stage: FailureStage = if case .refreshTimedOut = self { .timeout } else { .limit }
    return TransportError(stage: stage, code: .tokenUnavailable, message: "the access token is missing, as \(self)")
  }

  var failedFetch: HTTPFetchError<any Error>? { nil }
}
