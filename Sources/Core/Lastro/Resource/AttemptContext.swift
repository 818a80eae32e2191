// SPDX-License-Identifier: Apache-2.0

/// The state of a call when an interceptor's hook runs.
public struct AttemptContext: Sendable {
  /// The identifier of the call, unique within the process. All attempts and redirects of the call share it.
  public let callID: UInt64
  /// The number of the attempt; 1 for the first.
  public let attempt: Int
  /// The failures and delays before this attempt. In the failure hook, the failure that the hook is called for is not
  /// included.
  public let retryState: Retry.State
  /// The number of redirects followed in this attempt; 0 for the request that the resource made.
  public let hop: Int
  /// The response that redirected to the current request; `nil` when ``hop`` is 0.
  package internal(set) var redirectedFrom: ResourceResponse?
  /// Whether the `interceptScheduled` hook was called for a request of this attempt. In the failure hook it is false if
  /// no request could be made, the request was refused, or the time limit passed first.
  public let wasScheduled: Bool
  /// Whether this is the last attempt that the stack's limit of attempts allows.
  var isLast = false

  /// Makes a context; for tests of interceptors.
  public init(
    callID: UInt64 = 0, attempt: Int = 1, retryState: Retry.State = .empty, hop: Int = 0, wasScheduled: Bool = false
  ) {
    self.callID = callID
    self.attempt = attempt
    self.retryState = retryState
    self.hop = hop
    self.wasScheduled = wasScheduled
  }
}
