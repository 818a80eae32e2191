// SPDX-License-Identifier: Apache-2.0

/// The state of an operation, as a status response describes it.
public enum OperationState<Value: Sendable>: Sendable {
  /// The operation is not done. Poll again after this time; `nil`: after the response's `Retry-After`, or else after a
  /// growing interval.
  case running(after: Duration? = nil)
  /// The operation is done, with this value.
  case done(Value)
  /// The operation has failed with this error, which is thrown.
  case failed(any Error)
}
