// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
package import LastroWire

/// A cookie and its scope.
///
/// ```swift
/// let session = Cookie("session", "31d4d96e407aad42", domain: "api.example.org", isSecure: true)
/// try jar.insert(session)
/// ```
///
/// The value is a `Secret`: no description of the cookie shows it.
public struct Cookie: Sendable, Hashable {
  /// The name, which is case-sensitive; empty for a cookie that has only a value.
  public var name: String
  /// The value as the server wrote it, including quotes.
  public var value: Secret
  /// The host for which the cookie is set, in the canonical form of `HostName`: the server that set it, or a parent
  /// domain.
  public var domain: String
  /// The path for which the cookie is set; it covers the paths below it too. Default `/`.
  public var path: String
  /// Whether the cookie is for ``domain`` only, and not for hosts below it. Default true.
  public var isHostOnly: Bool
  /// Whether the cookie is sent over `https` only. Default false.
  public var isSecure: Bool
  /// Whether the server hides the cookie from scripts of pages, which has no effect in a client without pages. Default
  /// false.
  public var isHTTPOnly: Bool
  /// The `SameSite` attribute, which restricts requests made by pages of other sites. A client without pages has no
  /// such requests: the attribute is checked as the cookie is accepted, and has no effect later.
  package var sameSite = SetCookieLine.SameSite.unspecified
  /// The time at which the cookie expires; `nil`, the default, for a session cookie.
  public var expiry: Date?
  /// The time at which a jar first stored the cookie, which stays when it gets a new value; `nil` before.
  package var created: Date?
  /// The time at which the cookie was last set or sent; `nil` before.
  package var lastUsed: Date?

  /// Creates a cookie. ``CookieJar/insert(_:)`` validates it.
  public init(
    _ name: String, _ value: Secret, domain: String, path: String = "/", isHostOnly: Bool = true,
    isSecure: Bool = false, isHTTPOnly: Bool = false, expiry: Date? = nil
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.path = path
    self.isHostOnly = isHostOnly
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.expiry = expiry
  }
}

extension Cookie: CustomStringConvertible {
  /// The name and scope, such as `session of api.example.org/, secure`; never the value.
  public var description: String {
    var words = "\(name.isEmpty ? "a nameless cookie" : name.escapedForDisplay) of \(isHostOnly ? "" : "*.")\(domain)"
    words += path.escapedForDisplay
    if isSecure { words += ", secure" }
    if let expiry { words += ", until \(expiry.inCalendar)" }
    return words
  }
}
