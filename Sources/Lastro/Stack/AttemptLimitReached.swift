// SPDX-License-Identifier: Apache-2.0

/// Why a call ended that interceptors wanted to retry for ever: the reason in ``HTTPFetchError/Reason/retry(_:_:)``, as
/// ``Retry/Error/custom(_:)``.
public struct AttemptLimitReached: Error, Sendable, Hashable, CustomStringConvertible {
  /// ``StackConfiguration/maximumAttempts`` of the stack.
  public let limit: Int

  /// Makes a reason.
  public init(limit: Int) { self.limit = limit }

  /// One line that names the setting.
  public var description: String {
    "the stack's limit of \(limit) attempts is reached (StackConfiguration.maximumAttempts)"
  }
}
