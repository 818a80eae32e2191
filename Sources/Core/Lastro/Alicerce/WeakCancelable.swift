// SPDX-License-Identifier: Apache-2.0

/// A cancelable that refers weakly to another, so that it does not keep the target alive.
package final class WeakCancelable: Cancelable {
  private weak let target: (any Cancelable)?

  /// Makes a cancelable with a weak reference to `target`.
  package init(_ target: any Cancelable) { self.target = target }

  /// Whether the target is cancelled; true if the target was released.
  package var isCancelled: Bool { target?.isCancelled ?? true }

  /// Cancels the target, if it still exists and is not cancelled yet.
  package func cancel() {
    guard let target, !target.isCancelled else { return }
    target.cancel()
  }
}
