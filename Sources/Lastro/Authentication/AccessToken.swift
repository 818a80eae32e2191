// SPDX-License-Identifier: Apache-2.0

/// A bearer token as a token endpoint issued it (RFC 6750, RFC 6749 §5.1).
public struct AccessToken: Sendable, Hashable {
  /// What goes behind `Bearer` in the `Authorization` field.
  public let value: Secret
  /// How long it is valid from when it was issued; `nil` where that is not known. ``BearerAuthenticator`` makes a point
  /// in time of it.
  public let expiresIn: Duration?
  /// What a new token can be had for, where the issuer gave it along.
  public let refreshToken: Secret?
  /// What it is good for: names, separated by spaces (RFC 6749 §3.3).
  public let scope: String?

  /// Makes a token.
  ///
  /// - Parameters:
  ///   - value: the token itself: visible ASCII characters, at least one.
  ///   - expiresIn: how long it is valid from now on. Default: not known; it is then replaced when a server refuses it.
  ///   - refreshToken: default none.
  ///   - scope: default not known.
  ///   - type: only `Bearer`, in any case (RFC 6749 §7.1).
  /// - Throws: ``ConfigurationError`` when the value cannot stand in a header field, the lifetime is negative, or the
  ///   type is another. The message never has the token in it.
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
        hint: "give what is left of its lifetime, zero where nothing is")
    }
    guard Self.isBearer(type) else {
      throw ConfigurationError(
        "the token type \(type.prefix(40).escapedForDisplay) is not supported",
        hint: "use Bearer, or conform to RequestAuthenticator for other schemes")
    }
    self.init(unchecked: value, expiresIn: expiresIn, refreshToken: refreshToken, scope: scope)
  }

  init(unchecked value: Secret, expiresIn: Duration?, refreshToken: Secret?, scope: String?) {
    self.value = value
    self.expiresIn = expiresIn
    self.refreshToken = refreshToken
    self.scope = scope
  }

  static func isBearer(_ type: String) -> Bool { type.isSameFieldName(as: "Bearer") }
}
