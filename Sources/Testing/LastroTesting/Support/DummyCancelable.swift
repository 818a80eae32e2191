// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A placeholder for a `Cancelable` if there is nothing to cancel, such as in a test's stack.
public final class DummyCancelable: Cancelable {
  /// Creates a handle that cancels nothing.
  public init() {}

  /// Always false.
  public var isCancelled: Bool { false }

  /// Has no effect: ``isCancelled`` stays false.
  public func cancel() {}
}
