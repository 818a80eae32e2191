// SPDX-License-Identifier: Apache-2.0

/// A handle of running work that can be cancelled. The callback forms of `fetch` return one.
///
/// Cancelling more than once is harmless. The handle may be used on any thread.
public protocol Cancelable: AnyObject, Sendable {
  /// Whether the work was cancelled.
  var isCancelled: Bool { get }
  /// Cancels the work. Returns at once; the work's completion, if it has one, is still called.
  func cancel()
}
