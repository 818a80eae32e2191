// SPDX-License-Identifier: Apache-2.0

/// The point of a call at which an interceptor is asked.
public struct AttemptContext: Sendable {
  /// Names the call within the process: the same for all its attempts and redirects.
  public let callID: UInt64
  /// Number of the attempt; 1 for the first.
  public let attempt: Int
  /// What happened before this attempt. In the failure hook it does not hold the failure that the hook is told of.
  public let retryState: Retry.State
  /// Number of redirects followed in this attempt; 0 for the request that the resource made.
  public let hop: Int
  /// The answer that redirected here; `nil` when ``hop`` is 0.
  public let redirectedFrom: ResourceResponse?
  /// Whether interceptors were told that a request of this attempt is scheduled. False in the failure hook when the
  /// request could not be made, was refused, or its time was over before.
  public let wasScheduled: Bool
  /// Whether the stack's limit of attempts allows no other after this one.
  var isLast = false

  /// Makes a context; for tests of interceptors.
  public init(
    callID: UInt64 = 0, attempt: Int = 1, retryState: Retry.State = .empty, hop: Int = 0,
    redirectedFrom: ResourceResponse? = nil, wasScheduled: Bool = false
  ) {
    self.callID = callID
    self.attempt = attempt
    self.retryState = retryState
    self.hop = hop
    self.redirectedFrom = redirectedFrom
    self.wasScheduled = wasScheduled
  }
}
