// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The limit for the first element of a streamed body, such as an event, with its names in errors.
///
/// Copies share whether the element has arrived: the reader of the body marks it, and the transport, whose idle timeout
/// replaces this limit, reports a later silence as such.
package struct FirstElementLimit: Sendable {
  package var limit: Duration
  /// The element, such as `event`.
  package var element: String
  /// The option that sets the limit, such as `the parameter firstEvent`.
  package var option: String
  private let arrived = Lock(false)

  package init(limit: Duration, element: String, option: String) {
    self.limit = limit
    self.element = element
    self.option = option
  }

  /// Whether the first element has arrived.
  package var hasArrived: Bool { arrived.withLock { $0 } }

  /// Records that the first element has arrived.
  package func markArrived() { arrived.withLock { $0 = true } }

  /// Returns the error for an element that did not arrive in time.
  ///
  /// - Parameters:
  ///   - detail: completes the sentence, with the space or the punctuation before it.
  ///   - facts: the facts of the transfer.
  package func failure(_ detail: String, facts: TransferFacts? = nil) -> TransportError {
    TransportError(
      stage: .timeout, code: .firstEventTimeout, message: "no \(element) arrived within \(limit.brief)\(detail)",
      hint: "raise \(option) if the server needs that long", requestSent: true, facts: facts)
  }
}
