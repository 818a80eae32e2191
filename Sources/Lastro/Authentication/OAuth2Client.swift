// SPDX-License-Identifier: Apache-2.0

/// The client that asks a token endpoint, and the endpoint's URL (RFC 6749 §2, §3.2).
public struct OAuth2Client: Sendable, Hashable {
  /// How the client proves who it is (RFC 6749 §2.3).
  public enum Authentication: Sendable, Hashable {
    /// By HTTP Basic, id and secret form-encoded first (RFC 6749 §2.3.1). What every endpoint has to support.
    case basic(Secret)
    /// By `client_id` and `client_secret` in the body, for endpoints that do not take Basic.
    case body(Secret)
    /// Not: only `client_id` is sent. For public clients (RFC 6749 §3.2.1), and for proofs that extra parameters hold,
    /// such as `client_assertion` (RFC 7523).
    case none

    var secret: Secret? {
      switch self {
      case .basic(let secret), .body(let secret): secret
      case .none: nil
      }
    }
  }

  /// Where tokens are asked for.
  public let tokenURL: String
  /// The client identifier, `client_id` in the request (RFC 6749 §2.2).
  public let id: String
  /// How the client proves who it is.
  public let authentication: Authentication

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - tokenURL: the token endpoint: absolute, without fragment (RFC 6749 §3.2), `https` or on loopback.
  ///   - id: visible ASCII and spaces (RFC 6749 appendix A.1); not empty.
  ///   - authentication: the secret must not be empty.
  ///   - allowsInsecureTokenURL: whether an `http` endpoint other than loopback is accepted, where everyone on the way
  ///     can read the secrets. Default false.
  /// - Throws: ``ConfigurationError`` when one of these is not so.
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
        hint: "use https; allowsInsecureTokenURL: true sends them all the same")
    }
    guard !id.isEmpty, id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw ConfigurationError(
        "the client id is empty, or has a character that is not visible ASCII",
        hint: "give the id under which the client is registered")
    }
    guard authentication.secret.map({ !$0.isEmpty }) ?? true else {
      throw ConfigurationError(
        "the client secret is empty", hint: "for a client without one, give the authentication .none")
    }
    self.tokenURL = tokenURL
    self.id = id
    self.authentication = authentication
  }
}
