// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The status of a Gemini response: two digits, of which the first is the category and the second the detail.
///
/// An unknown second digit is treated like the first digit alone, as the specification requires (§3.2).
public struct GeminiStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The category of a status, which is its first digit.
  @frozen
  public enum Category: Int, Sendable, Hashable, CaseIterable {
    /// 1x: the server requests a line of text. `meta` is the prompt.
    case input = 1
    /// 2x: a body follows. `meta` is its media type.
    case success
    /// 3x: a redirect. `meta` is the target.
    case redirect
    /// 4x: a temporary failure. `meta` may contain the reason.
    case temporaryFailure
    /// 5x: a permanent failure. `meta` may contain the reason.
    case permanentFailure
    /// 6x: a problem with the client certificate. `meta` may contain the reason.
    case clientCertificate
  }

  /// The number, 10 to 69.
  public let rawValue: Int

  /// Creates a status; returns `nil` unless the number is from 10 to 69.
  public init?(rawValue: Int) {
    guard 10...69 ~= rawValue else { return nil }
    self.rawValue = rawValue
  }

  private init(_ rawValue: Int) { self.rawValue = rawValue }

  /// The category, from the first digit.
  public var category: Category { Category(rawValue: rawValue / 10) ?? .permanentFailure }
  /// Whether a body follows (2x).
  package var isSuccess: Bool { category == .success }
  /// Whether the status is 11.
  public var isSensitiveInput: Bool { self == .sensitiveInput }
  /// The two digits.
  public var description: String { "\(rawValue)" }

  /// 10: the server requests input.
  public static let input = Self(10)
  /// 11: the input must be hidden and must not be stored.
  public static let sensitiveInput = Self(11)
  /// 20: a body follows.
  public static let success = Self(20)
  /// 30: a temporary redirect.
  public static let temporaryRedirect = Self(30)
  /// 31: the old URL should be forgotten.
  public static let permanentRedirect = Self(31)
  /// 40: a temporary failure.
  public static let temporaryFailure = Self(40)
  /// 41: the server is unavailable.
  package static let serverUnavailable = Self(41)
  /// 42: a CGI script failed.
  package static let cgiError = Self(42)
  /// 43: a proxied request failed.
  package static let proxyError = Self(43)
  /// 44: `meta` is the number of seconds to wait.
  package static let slowDown = Self(44)
  /// 50: a permanent failure.
  public static let permanentFailure = Self(50)
  /// 51: the resource does not exist.
  public static let notFound = Self(51)
  /// 52: the resource no longer exists.
  public static let gone = Self(52)
  /// 53: the server refuses to act as a proxy.
  package static let proxyRequestRefused = Self(53)
  /// 59: the request is invalid.
  package static let badRequest = Self(59)
  /// 60: a client certificate is required.
  public static let clientCertificateRequired = Self(60)
  /// 61: the client certificate is not authorised.
  package static let certificateNotAuthorised = Self(61)
  /// 62: the client certificate is not valid.
  package static let certificateNotValid = Self(62)
}
