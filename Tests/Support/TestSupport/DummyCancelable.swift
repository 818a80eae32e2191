// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A placeholder for a `Cancelable` if there is nothing to cancel, such as in a test's stack.
package final class DummyCancelable: Cancelable {
  /// Creates a handle that cancels nothing.
  package init() {}

  /// Always false.
  package var isCancelled: Bool { false }

  /// Has no effect: ``isCancelled`` stays false.
  package func cancel() {}
}
