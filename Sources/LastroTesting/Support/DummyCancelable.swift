// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Stands where a `Cancelable` is wanted and there is nothing to cancel, such as in a stack of a test.
public final class DummyCancelable: Cancelable {
  /// Makes a handle that ends nothing.
  public init() {}

  /// Always false.
  public var isCancelled: Bool { false }

  /// Has no effect: ``isCancelled`` stays false.
  public func cancel() {}
}
