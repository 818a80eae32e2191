// SPDX-License-Identifier: Apache-2.0

/// An error that knows whether it is a cancellation.
///
/// A ``NetworkStack/FetchError`` that conforms is recognised by ``FetchAndDecodeError/isCancelled``; ``HTTPFetchError``
/// does.
package protocol CancellationTelling: Error {
  /// Whether the cause is that the caller cancelled.
  var isCancelled: Bool { get }
}
