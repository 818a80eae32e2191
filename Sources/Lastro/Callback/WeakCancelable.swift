// SPDX-License-Identifier: Apache-2.0

/// Cancels something without keeping it alive.
public final class WeakCancelable: Cancelable {
  private weak let target: (any Cancelable)?

  /// Wraps `target` weakly.
  public init(_ target: any Cancelable) { self.target = target }

  /// What the target says; true when it is gone.
  public var isCancelled: Bool { target?.isCancelled ?? true }

  /// Cancels the target, if it is still there and not cancelled yet.
  public func cancel() {
    guard let target, !target.isCancelled else { return }
    target.cancel()
  }
}
