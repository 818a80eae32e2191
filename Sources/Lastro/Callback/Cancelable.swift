// SPDX-License-Identifier: Apache-2.0

/// Work under way that can be given up: what the callback forms of `fetch` return.
///
/// Cancelling more than once is harmless. It may be called from any thread.
public protocol Cancelable: AnyObject, Sendable {
  /// Whether the work was cancelled.
  var isCancelled: Bool { get }
  /// Gives the work up. Returns at once; the work's completion, if it has one, is still called.
  func cancel()
}
