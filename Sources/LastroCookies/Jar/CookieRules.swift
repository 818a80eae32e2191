// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What a ``CookieJar`` takes, and how much of it.
public struct CookieRules: Sendable, Hashable {
  /// Whether it takes cookies that have a value only, such as `Set-Cookie: x`. Default false: servers rarely mean them,
  /// and readers of `Cookie` take them for other things.
  public var acceptsNameless = false
  /// Whether `http` to `localhost`, names below it, `127.0.0.0/8` and `::1` counts as secure. Default false; for tests
  /// of servers on this machine, as no other machine reads what stays on it.
  public var treatsLoopbackAsSecure = false
  /// Most cookies of one registrable domain, such as `example.co.uk`, with all hosts below it. Default 180.
  public let maximumCookiesPerDomain: Int
  /// Most cookies in all. Default 3000.
  public let maximumCookies: Int
  /// Most bytes of the `Cookie` field of a request: those that have no room stay in the jar. Default 16 KiB.
  public let maximumFieldBytes: Int

  /// The defaults.
  public static let standard = CookieRules()

  private init() {
    maximumCookiesPerDomain = 180
    maximumCookies = 3000
    maximumFieldBytes = 16 * 1024
  }

  /// Makes rules with other limits.
  ///
  /// - Parameters:
  ///   - maximumCookiesPerDomain: 50 to 100000.
  ///   - maximumCookies: 3000 to 1000000.
  ///   - maximumFieldBytes: 4096 to 1 MiB: a cookie may have 4096 bytes.
  /// - Throws: `ConfigurationError` for a value out of its range, whose lower ends are those of the standard
  ///   (draft-ietf-httpbis-rfc6265bis §6.1).
  public init(
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
