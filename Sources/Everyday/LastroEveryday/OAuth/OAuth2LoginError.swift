// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// The reason why a login did not lead to a token. It never contains secrets.
@nonexhaustive
public enum OAuth2LoginError: Error, Sendable, CustomStringConvertible {
  /// The user or the server refused, with a word of RFC 6749 §4.1.2.1 or §5.2, or of RFC 8628 §3.5: `access_denied` if the
  /// user declined. The description, for developers, has at most 500 characters; `nil` if the server sent none.
  case refused(error: String, description: String?)
  /// The user did not log in within the time.
  case expired
  /// A document or a redirect names another issuer than the one that was asked (RFC 8414 §3.3, RFC 9207 §2.4), or none. It
  /// may come from an attacker.
  case wrongIssuer(expected: String, found: String?)
  /// The server does not offer this kind of login, for the given reason.
  case unsupported(String)
  /// A response or a redirect violates its protocol, for the given reason.
  case invalidAnswer(String)
  /// An argument or the system does not allow the login.
  case misconfigured(ConfigurationError)
  /// A request of the login failed. The error does not have the body of the response.
  case fetch(HTTPFetchError<any Error>)
  /// The caller's task was cancelled.
  case cancelled

  /// The error with a suggested fix on one line, without secrets.
  public var description: String {
    switch self {
    case .refused(let error, let description):
      "the login was refused with \(error)" + (description.map { ": \($0)" } ?? "")
        + (Self.hint(for: error).map { " (\($0))" } ?? "")
    case .expired: "the user did not log in within the time (start another login, or allow more time)"
    case .wrongIssuer(let expected, let found):
      "the answer is from \(found?.shortened ?? "an unnamed server"), and \(expected.shortened) was expected"
        + " (if both are the same server, ask for it exactly as it names itself)"
    case .unsupported(let reason): "the server does not offer this login: \(reason)"
    case .invalidAnswer(let reason): "the server's answer to the login is invalid: \(reason) (report it to its owner)"
    case .misconfigured(let error): "\(error)"
    case .fetch(let error): "a request of the login failed: \(error)"
    case .cancelled: "the login was cancelled"
    }
  }

  private static func hint(for error: String) -> String? {
    switch error {
    case "access_denied": "the user declined, or may not use this application: ask before another login"
    case "invalid_grant": "the code has expired or was used before: start another login"
    case "invalid_request":
      "check the parameters against the client's registration, and for a browser also the redirect URL"
    case "server_error", "temporarily_unavailable": "try again later"
    default: OAuth2Error.hint(for: error)
    }
  }
}

extension OAuth2LoginError: LocalizedError, OneLineError {}

extension OAuth2LoginError {
  /// Converts the failure of a request to an endpoint of the server.
  init(_ error: OAuth2Error) {
    switch error {
    case .refused(_, "expired_token", _): self = .expired
    case .refused(_, let error, let description): self = .refused(error: error, description: description)
    case .fetch(let error): self.init(error)
    default: self = .invalidAnswer("\(error)")
    }
  }

  init(_ error: HTTPFetchError<any Error>) {
    if case .cancelled = error.reason { self = .cancelled } else { self = .fetch(error) }
  }
}

extension String {
  /// The beginning of a server's text, for an error.
  var shortened: String { String(prefix(200)).escapedForDisplay }
}
