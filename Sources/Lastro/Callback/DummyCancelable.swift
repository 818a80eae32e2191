// SPDX-License-Identifier: Apache-2.0

/// Stands where a ``Cancelable`` is wanted and there is nothing to cancel.
package final class DummyCancelable: Cancelable {
  /// Makes one.
  package init() {}

  /// Always false.
  package var isCancelled: Bool { false }

  /// Does nothing.
  package func cancel() {}
}
