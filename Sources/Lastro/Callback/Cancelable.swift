// SPDX-License-Identifier: Apache-2.0

/// Work that can be given up.
public protocol Cancelable: AnyObject, Sendable {
  /// Whether ``cancel()`` was called.
  var isCancelled: Bool { get }
  /// Gives the work up. May be called from any thread, more than once; later calls do nothing.
  func cancel()
}
