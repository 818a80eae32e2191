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
  /// The two digits.
  public var description: String { "\(rawValue)" }

  /// 11: the server requests input that must be hidden and must not be stored.
  public static let sensitiveInput = Self(11)
  /// 20: a body follows.
  public static let success = Self(20)
  /// 44: `meta` is the number of seconds to wait.
  package static let slowDown = Self(44)
  /// 51: the resource does not exist.
  public static let notFound = Self(51)
}
