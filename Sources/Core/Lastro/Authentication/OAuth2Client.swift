// SPDX-License-Identifier: Apache-2.0

/// The client of a token endpoint, and the endpoint's URL (RFC 6749 §2, §3.2).
public struct OAuth2Client: Sendable, Hashable {
  /// The method by which the client authenticates (RFC 6749 §2.3).
  public enum Authentication: Sendable, Hashable {
    /// HTTP Basic, with the form-encoded id and secret (RFC 6749 §2.3.1). Every endpoint must support it.
    case basic(Secret)
    /// `client_id` and `client_secret` in the body, for endpoints that do not support Basic.
    case body(Secret)
    /// No authentication: only `client_id` is sent. For public clients (RFC 6749 §3.2.1), and for credentials in extra
    /// parameters, such as `client_assertion` (RFC 7523).
    case none

    var secret: Secret? {
      switch self {
      case .basic(let secret), .body(let secret): secret
      case .none: nil
      }
    }
  }

  /// The URL of the token endpoint.
  package let tokenURL: String
  /// The client identifier, sent as `client_id` (RFC 6749 §2.2).
  package let id: String
  /// The method by which the client authenticates.
  package let authentication: Authentication

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - tokenURL: the URL of the token endpoint: absolute, without a fragment (RFC 6749 §3.2), and `https` or
  ///     loopback.
  ///   - id: the client identifier: visible ASCII and spaces (RFC 6749 appendix A.1); not empty.
  ///   - authentication: the method of authentication. A secret must not be empty.
  ///   - allowsInsecureTokenURL: whether an `http` endpoint other than loopback is accepted, where anyone on the
  ///     network path can read the secrets. Default `false`.
  /// - Throws: ``ConfigurationError`` if one of these requirements is violated.
  public init(
    tokenURL: String, id: String, authentication: Authentication, allowsInsecureTokenURL: Bool = false
  ) throws(ConfigurationError) {
    guard let origin = try? Origin(tokenURL), !tokenURL.contains("#") else {
      throw ConfigurationError(
        "the token URL is not absolute, not http or https, or has user information or a fragment",
        hint: "write https://HOST/PATH")
    }
    guard allowsInsecureTokenURL || origin.keepsSecrets else {
      throw ConfigurationError(
        "the client's secrets would go to \(origin) without encryption",
        hint: "use https, or set allowsInsecureTokenURL: true to send them anyway")
    }
    guard !id.isEmpty, id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw ConfigurationError(
        "the client id is empty, or has a character that is not visible ASCII",
        hint: "give the id under which the client is registered")
    }
    guard authentication.secret.map({ !$0.isEmpty }) ?? true else {
      throw ConfigurationError(
        "the client secret is empty", hint: "for a client without a secret, use the authentication .none")
    }
    self.tokenURL = tokenURL
    self.id = id
    self.authentication = authentication
  }
}
