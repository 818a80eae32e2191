// SPDX-License-Identifier: Apache-2.0

import Lastro

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
  let maximumCookiesPerDomain: Int
  /// The maximum number of cookies in the jar. Default 3000.
  let maximumCookies: Int
  /// The maximum size of a request's `Cookie` field in bytes; cookies that do not fit are not sent. Default 16 KiB.
  let maximumFieldBytes: Int

  /// The default rules.
  static let standard = CookieRules()

  private init() {
    maximumCookiesPerDomain = 180
    maximumCookies = 3000
    maximumFieldBytes = 16 * 1024
  }

  /// Creates rules with the default limits.
  init(acceptsNameless: Bool, treatsLoopbackAsSecure: Bool) {
    self.init()
    self.acceptsNameless = acceptsNameless
    self.treatsLoopbackAsSecure = treatsLoopbackAsSecure
  }

  /// Creates rules with other limits.
  ///
  /// - Parameters:
  ///   - maximumCookiesPerDomain: the maximum per registrable domain, 50 to 100000.
  ///   - maximumCookies: the maximum in the jar, 3000 to 1000000.
  ///   - maximumFieldBytes: the maximum size of a `Cookie` field, 4096 to 1 MiB: a single cookie may have 4096 bytes.
  /// - Throws: `ConfigurationError` for a value out of its range. The lower bounds of the ranges come from the standard
  ///   (draft-ietf-httpbis-rfc6265bis §6.1).
  init(
    maximumCookiesPerDomain: Int = 180, maximumCookies: Int = 3000, maximumFieldBytes: Int = 16 * 1024
  ) throws(ConfigurationError) {
    try Self.check("maximumCookiesPerDomain", maximumCookiesPerDomain, 50...100_000)
    try Self.check("maximumCookies", maximumCookies, 3000...1_000_000)
    try Self.check("maximumFieldBytes", maximumFieldBytes, 4096...(1 << 20))
    self.maximumCookiesPerDomain = maximumCookiesPerDomain
    self.maximumCookies = maximumCookies
    self.maximumFieldBytes = maximumFieldBytes
  }

  private static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(ConfigurationError) {
    guard range.contains(value) else {
      throw ConfigurationError(
        "\(name) is \(value), out of range (\(range.lowerBound)…\(range.upperBound))", hint: "give a value in it")
    }
  }
}
