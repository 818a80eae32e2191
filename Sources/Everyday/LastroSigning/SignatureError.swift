// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Lastro

/// The reason why a message was not accepted as signed. It never contains a key or a signature.
public struct SignatureError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure.
  @nonexhaustive
  public enum Code: String, Sendable, Hashable {
    /// The message has no signature, or lacks a part that the signature covers.
    case missing
    /// The signature's header fields cannot be read, or exceed a limit.
    case malformed
    /// The signature uses something that is not supported.
    case unsupported
    /// No key with the signature's identifier is known.
    case unknownKey = "unknown_key"
    /// The signature does not cover a part of the message that it has to cover.
    case uncovered
    /// The signature is too old, has expired or was made in the future.
    case expired
    /// The signature is not that of the message, or the body is not the one that was signed.
    case mismatch
    /// The signature cannot be checked, because OpenSSL lacks an algorithm or memory.
    case unavailable
  }

  /// The kind of the failure.
  public var code: Code
  /// A sentence that names the cause.
  public var message: String
  /// A suggested fix, if there is a usual remedy.
  public var hint: String?

  /// Creates an error, for verifiers of other kinds.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Code, message and hint on one line.
  public var description: String { "\(code.rawValue): \(message)" + (hint.map { " (\($0))" } ?? "") }
}

extension SignatureError: PayloadRefusal {}

extension SignatureError: LocalizedError {
  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
