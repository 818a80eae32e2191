// SPDX-License-Identifier: Apache-2.0

/// The rules by which a ``CookieJar`` accepts cookies, and its limits.
struct CookieRules: Sendable, Hashable {
  /// Whether cookies without a name are accepted, such as `Set-Cookie: x`. Default false: servers rarely intend them,
  /// and parsers of `Cookie` misread them.
  var acceptsNameless = false
  /// Whether `http` to `localhost`, names below it, `127.0.0.0/8` and `::1` counts as secure. Default false. For tests
  /// of servers on this machine: such traffic does not leave the machine.
  var treatsLoopbackAsSecure = false
  /// The maximum number of cookies per registrable domain, such as `example.co.uk`, including all hosts below it.
  /// Default 180.
  var maximumCookiesPerDomain = 180
  /// The maximum number of cookies in the jar. Default 3000.
  var maximumCookies = 3000
  /// The maximum size of a request's `Cookie` field in bytes; cookies that do not fit are not sent. Default 16 KiB.
  var maximumFieldBytes = 16 * 1024

  /// The default rules.
  static let standard = CookieRules()
}
