// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A cookie, with the requests that it is for.
///
/// ```swift
/// let session = Cookie("session", "31d4d96e407aad42", domain: "api.example.org", isSecure: true)
/// try jar.insert(session)
/// ```
///
/// Its value is a `Secret`: nothing that describes the cookie shows it.
public struct Cookie: Sendable, Hashable {
  /// What it says of requests that pages of other sites make. A client without pages has none to hold to it: it is
  /// kept, and not enforced.
  public enum SameSite: String, Sendable, Hashable {
    /// Nothing.
    case unspecified
    /// `Strict`.
    case strict
    /// `Lax`.
    case lax
    /// `None`.
    case none
  }

  /// Its name, case counts; empty for a cookie that has a value only.
  public var name: String
  /// Its value, as the server wrote it: quotes are part of it.
  public var value: Secret
  /// A host: that of the server that set it, or one above that. In the canonical form of `HostName`.
  public var domain: String
  /// Which paths it is for: this one, and those below it. Default `/`.
  public var path: String
  /// Whether it is for ``domain`` alone, and for no host below that. Default true.
  public var isHostOnly: Bool
  /// Whether it goes out over `https` alone. Default false.
  public var isSecure: Bool
  /// Whether the server keeps it from scripts of pages, which is nothing to a client without any. Default false.
  public var isHTTPOnly: Bool
  /// What it says of other sites. Default ``SameSite/unspecified``.
  public var sameSite: SameSite
  /// When it ends; `nil`, the default, for a cookie that lasts as long as the session.
  public var expiry: Date?
  /// When a jar first took it, which stays when it gets a new value; `nil` before.
  public var created: Date?
  /// When it was set or sent last; `nil` before.
  public var lastUsed: Date?

  /// Makes a cookie. ``CookieJar/insert(_:)`` checks it.
  public init(
    _ name: String, _ value: Secret, domain: String, path: String = "/", isHostOnly: Bool = true,
    isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified, expiry: Date? = nil
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.path = path
    self.isHostOnly = isHostOnly
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.sameSite = sameSite
    self.expiry = expiry
  }
}

extension Cookie: CustomStringConvertible {
  /// Name and scope, such as `session of api.example.org/, secure`; never the value.
  public var description: String {
    var words = "\(name.isEmpty ? "a nameless cookie" : name.escapedForDisplay) of \(isHostOnly ? "" : "*.")\(domain)"
    words += path.escapedForDisplay
    if isSecure { words += ", secure" }
    if let expiry { words += ", until \(expiry.inCalendar)" }
    return words
  }
}
