// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The failure of an operation of a ``FleetStore``. It never contains a value that was stored, nor a password.
public struct FleetStoreError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure.
  @nonexhaustive
  public enum Code: String, Sendable, Hashable {
    /// The store cannot be reached, or the connection to it was lost.
    case unreachable
    /// The store did not respond in time.
    case timedOut = "timed_out"
    /// The store refused the operation: a wrong password, missing rights, no memory, or a configuration that is not
    /// supported.
    case refused
    /// The store's response cannot be read.
    case invalidReply = "invalid_reply"
    /// A stored value cannot be read, for example because it was sealed with another key.
    case unreadable
    /// The task was cancelled.
    case cancelled
  }

  /// The kind of the failure.
  public var code: Code
  /// A sentence that names the store and the cause.
  public var message: String
  /// A suggested fix, if there is a usual remedy.
  public var hint: String?
  /// Whether another server of the same store may accept the operation.
  var concernsOneServer = false

  /// Creates an error, for stores of other kinds.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Code, message and hint on one line.
  public var description: String { "\(code.rawValue): \(message)" + (hint.map { " (\($0))" } ?? "") }
}

extension FleetStoreError: LocalizedError {
  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
