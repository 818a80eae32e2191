// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A configuration value that cannot work, found when it is made and not when it is used.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, in one sentence, with the value and the range that is allowed.
  public var message: String
  /// How to fix it.
  public var hint: String?

  /// Makes an error.
  public init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }

  /// Message and hint on one line.
  public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}

extension ConfigurationError: LocalizedError {
  /// As ``description``: what `localizedDescription` says.
  public var errorDescription: String? { description }
}

extension TransportError: LocalizedError {
  /// As ``description``: what `localizedDescription` says.
  public var errorDescription: String? { description }
}

extension DecodeFailure: LocalizedError {
  /// As ``description``: what `localizedDescription` says.
  public var errorDescription: String? { description }
}

extension FetchAndDecodeError: LocalizedError {
  /// As ``description``: what `localizedDescription` says.
  public var errorDescription: String? { description }
}
