// SPDX-License-Identifier: Apache-2.0

/// Stands where a ``Cancelable`` is wanted and there is nothing to cancel.
public final class DummyCancelable: Cancelable {
  /// Makes one.
  public init() {}

  /// Always false.
  public var isCancelled: Bool { false }

  /// Does nothing.
  public func cancel() {}
}
