// SPDX-License-Identifier: Apache-2.0

/// An access token as a token endpoint issued it (RFC 6749 §5.1).
public struct AccessToken: Sendable, Hashable {
  /// The token that follows ``type`` in the `Authorization` field.
  public let value: Secret
  /// The lifetime of the token from the time it was issued; `nil` if it is not known. ``BearerAuthenticator`` converts
  /// it to a point in time.
  public let expiresIn: Duration?
  /// The refresh token for getting a new access token, if the issuer provided one.
  public let refreshToken: Secret?
  /// The scope of the token: names, separated by spaces (RFC 6749 §3.3).
  public let scope: String?
  /// The type of the token, which is also the scheme that it is sent with: `Bearer` (RFC 6750), or `DPoP` for a token
  /// that is bound to a key (RFC 9449). Keep it together with a token that you store.
  public let type: String
}

extension AccessToken {
  /// Creates a token.
  ///
  /// - Parameters:
  ///   - value: the token itself: at least one character, all of them visible ASCII.
  ///   - expiresIn: the remaining lifetime of the token. Default `nil`: the lifetime is not known, and the token is
  ///     replaced when a server refuses it.
  ///   - refreshToken: the refresh token. Default none.
  ///   - scope: the scope of the token. Default: not known.
  ///   - type: the token type, in any case (RFC 6749 §7.1): `Bearer`, or `DPoP` for a token that is bound to a key. A
  ///     request with a `DPoP` token fails before it is sent unless a signer adds the proof, as the `DPoPProver` of
  ///     `LastroSigning` does. Default `Bearer`.
  /// - Throws: ``ConfigurationError`` if the value is not valid in a header field, the lifetime is negative, or the
  ///   type is not supported. The message never includes the token.
  public init(
    _ value: Secret, expiresIn: Duration? = nil, refreshToken: Secret? = nil, scope: String? = nil,
    type: String = "Bearer"
  ) throws(ConfigurationError) {
    guard !value.isEmpty else {
      throw ConfigurationError("the access token is empty", hint: "give the token that its endpoint issued")
    }
    guard value.reveal().utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ConfigurationError(
        "the access token has a character that is not visible ASCII",
        hint: "give the token alone, without \"Bearer\", blanks or a line end")
    }
    if let expiresIn, expiresIn < .zero {
      throw ConfigurationError(
        "the access token's lifetime is \(expiresIn.brief), below the minimum of 0",
        hint: "give its remaining lifetime, or zero if it has expired")
    }
    guard let type = Self.supported(type) else {
      throw ConfigurationError(
        "the token type \(type.prefix(40).escapedForDisplay) is not supported",
        hint: "use Bearer, or conform to RequestAuthenticator for other schemes")
    }
    self.init(value: value, expiresIn: expiresIn, refreshToken: refreshToken, scope: scope, type: type)
  }

  /// Returns the usual spelling of a token type; `nil` for a type that is not supported.
  static func supported(_ type: String) -> String? { ["Bearer", "DPoP"].first { type.isSameFieldName(as: $0) } }
}
