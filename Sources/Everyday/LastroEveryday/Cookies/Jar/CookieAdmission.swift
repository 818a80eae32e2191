// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroWire

/// Decides which cookies a jar accepts, as far as that does not depend on the cookies in it
/// (draft-ietf-httpbis-rfc6265bis §5.7).
struct CookieAdmission {
  /// The maximum lifetime of a cookie (§5.5): 400 days, in seconds.
  static let maximumAge: Int64 = 400 * 86_400

  let rules: CookieRules
  let suffixes: PublicSuffixList

  /// Returns the cookie that a `Set-Cookie` line sets; its expiry may have passed.
  func cookie(_ line: SetCookieLine, from source: CookieSource, now: Date) throws(CookieRefusal) -> Cookie {
    guard rules.acceptsNameless || !line.name.isEmpty else { throw .nameless }
    let scope = try scope(line.domain, from: source)
    guard source.isSecure || !line.isSecure else { throw .secureInTheClear }
    var cookie = Cookie(
      line.name, Secret(line.value), domain: scope.domain, path: line.path ?? CookiePath.ofRequest(source.path),
      isHostOnly: scope.isHostOnly, isSecure: line.isSecure, isHTTPOnly: line.isHTTPOnly,
      expiry: expiry(line, now))
    cookie.sameSite = line.sameSite
    try checkPromises(of: cookie, isPathWritten: line.path != nil)
    return cookie
  }

  /// Returns a cookie of the application or of a file in its canonical form.
  func admitted(_ cookie: Cookie, now: Date) throws(CookieRefusal) -> Cookie {
    var cookie = cookie
    try checkText(of: cookie)
    guard rules.acceptsNameless || !cookie.name.isEmpty else { throw .nameless }
    guard cookie.domain.utf8.last != UInt8(ascii: "."), let domain = try? HostName(cookie.domain) else {
      throw .invalidDomain
    }
    if !cookie.isHostOnly, suffixes.isPublicSuffix(domain) { throw .publicSuffix }
    guard cookie.path.utf8.first == UInt8(ascii: "/") else { throw .invalidPath }
    cookie.domain = domain.text
    cookie.isHostOnly = cookie.isHostOnly || domain.isIPAddress
    cookie.expiry = cookie.expiry.map { min($0, now.addingTimeInterval(Double(Self.maximumAge))) }
    try checkPromises(of: cookie, isPathWritten: true)
    return cookie
  }

  /// Checks the texts of a cookie, as the parser does for a line from a server.
  private func checkText(of cookie: Cookie) throws(CookieRefusal) {
    let value = cookie.value.reveal()
    guard !cookie.name.isEmpty || !value.isEmpty else { throw .empty }
    for text in [cookie.name, value, cookie.path] {
      guard text.utf8.allSatisfy(FieldSyntax.isValue) else { throw .controlCharacter }
      // Spaces at the ends would be lost in a field.
      guard !text.utf8.contains(UInt8(ascii: ";")), text[...].withoutBlanks.utf8.count == text.utf8.count else {
        throw .separator
      }
    }
    guard !cookie.name.utf8.contains(UInt8(ascii: "=")) else { throw .separator }
    if cookie.name.isEmpty, value.utf8.contains(UInt8(ascii: "=")) { throw .separator }
    guard cookie.name.utf8.count + value.utf8.count <= SetCookieLine.maximumBytes else { throw .tooLong }
  }

  /// Returns the domain of a cookie: the host that set it, or the domain that it names.
  private func scope(
    _ domain: String?, from source: CookieSource
  ) throws(CookieRefusal) -> (domain: String, isHostOnly: Bool) {
    guard let domain else { return (source.host.text, true) }
    // A host may be written with a dot at its end; the domain of a cookie may not.
    guard domain.utf8.allSatisfy({ $0 < 0x80 }), domain.utf8.last != UInt8(ascii: "."),
      let named = try? HostName(domain)
    else { throw .invalidDomain }
    let isPublic = suffixes.isPublicSuffix(named)
    if named == source.host { return (named.text, isPublic || named.isIPAddress) }
    guard !isPublic else { throw .publicSuffix }
    guard source.host.isSubdomain(of: named) else { throw .foreignDomain }
    return (named.text, false)
  }

  private func checkPromises(of cookie: Cookie, isPathWritten: Bool) throws(CookieRefusal) {
    if cookie.sameSite == .none, !cookie.isSecure { throw .sameSiteNone }
    // A server may read a value without a name as a name.
    guard !cookie.name.isEmpty else {
      if CookiePrefix(cookie.value.reveal()) != nil { throw .prefix }
      return
    }
    guard let prefix = CookiePrefix(cookie.name) else { return }
    let isForWholeHost = cookie.isHostOnly && isPathWritten && cookie.path == "/"
    guard prefix.holds(isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, isForWholeHost: isForWholeHost)
    else { throw .prefix }
  }

  /// Returns the expiry. `Max-Age` takes precedence over `Expires`.
  private func expiry(_ line: SetCookieLine, _ now: Date) -> Date? {
    if let age = line.maximumAge {
      return age > 0 ? now.addingTimeInterval(Double(min(age, Self.maximumAge))) : .distantPast
    }
    return line.expires.map { seconds in
      min(Date(timeIntervalSince1970: Double(seconds)), now.addingTimeInterval(Double(Self.maximumAge)))
    }
  }
}

extension CookieRefusal {
  init(_ problem: SetCookieLine.Problem) {
    switch problem {
    case .controlCharacter: self = .controlCharacter
    case .notUTF8: self = .notUTF8
    case .empty: self = .empty
    case .tooLong: self = .tooLong
    }
  }
}
