// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// User and password on every request to the given origins (RFC 7617), without being asked for them.
///
/// ```swift
/// let basic = try BasicAuthenticator(user: "ci", password: password, origins: [origin])
/// configuration.interceptors.append(basic)
/// ```
///
/// The `Authorization` field of a request is replaced. Requests to other origins pass as they are. A 401 is not
/// retried: the same credentials would be refused again.
public struct BasicAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  /// The user name.
  public let user: String
  /// Where the credentials go, and nowhere else.
  public var origins: [Origin] { scope.origins }
  /// As ``origins``.
  public var credentialOrigins: [Origin] { scope.origins }
  /// False: the credentials are at hand, so no task is made for the hook.
  public var hooksWait: Bool { false }

  private let scope: CredentialScope
  private let authorization: Secret
  private let password: Secret

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - user: the user name, sent in UTF-8 and not normalized; may be empty.
  ///   - password: sent in UTF-8 and not normalized; may be empty.
  ///   - origins: where the credentials go; at least one.
  ///   - allowsInsecureOrigins: whether an origin may be `http` on another machine, where everyone on the way reads
  ///     the password. Default false: `http` is for this machine only (`localhost`, 127.0.0.0/8, `[::1]`).
  /// - Throws: ``ConfigurationError``: no origin; one in clear; a colon in the user name (RFC 7617 §2: it would end
  ///   there); control characters in either.
  public init(
    user: String, password: Secret, origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: allowsInsecureOrigins)
    authorization = try .basic(user: user, password)
    self.user = user
    self.password = password
  }

  /// Sets `Authorization` where the request goes to one of ``origins``.
  ///
  /// - Throws: stage `request`, code `invalid_header`, when user or password cannot stand in a header field.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    guard scope.covers(request) else { return request }
    var request = request
    try request.setHeader("Authorization", authorization)
    request.options.secrets.insert(password)
    return request
  }
}

extension Secret {
  /// User and password as the value of a field (RFC 7617).
  ///
  /// - Throws: ``ConfigurationError``: a colon in the user-id, control characters in either.
  package static func basic(user: String, _ password: Secret) throws(ConfigurationError) -> Secret {
    guard !user.utf8.contains(UInt8(ascii: ":")) else {
      throw ConfigurationError(
        "the user name has a colon in it", hint: "remove it: what follows would count as the password; RFC 7617 §2")
    }
    guard !user.hasControlCharacter else {
      throw ConfigurationError("the user name has a control character in it", hint: "remove it, such as a line's end")
    }
    guard !password.reveal().hasControlCharacter else {
      throw ConfigurationError(
        "the password has a control character in it",
        hint: "remove it: a password read from a file often ends in a line's end")
    }
    return Secret("Basic " + Data("\(user):\(password.reveal())".utf8).base64EncodedString())
  }
}
