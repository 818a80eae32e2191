// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A configuration value that cannot work. It is reported when the configuration is made, not when it is used.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A sentence that names the fault, the rejected value and the allowed range.
  public var message: String
  /// A suggested fix.
  public var hint: String?

  /// Creates an error.
  public init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }

  /// Message and hint on one line.
  public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}

extension ConfigurationError: LocalizedError, OneLineError {}

extension DecodeFailure: LocalizedError, OneLineError {}

extension FetchAndDecodeError: LocalizedError, OneLineError {}
