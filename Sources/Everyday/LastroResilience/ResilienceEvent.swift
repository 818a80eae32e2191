// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// An action of a part of ``Resilience`` on a request.
package struct ResilienceEvent: Sendable, Hashable {
  /// The kind of the event.
  package enum Kind: Sendable, Hashable {
    /// The request waited for its pace.
    case paced(Duration)
    /// The request waited in the limiter's queue.
    case queued(Duration)
    /// The request was refused with code `circuit_open`, `concurrency_limited` or `rate_limited`; nothing was sent.
    case refused(FailureCode)
    /// The circuit changed state, because the request ended or because it is the first probe.
    case circuit(from: CircuitState, to: CircuitState)
    /// A hedge was sent: its number, from 1, and the time since the first try.
    case hedgeSent(Int, after: Duration)
    /// A hedge ended: its number, its result, and the time between the first try and its sending.
    case hedgeEnded(Int, HedgeEnd, sentAfter: Duration)
    /// A hedge was due, but was not sent.
    case hedgeWithheld(HedgeVeto)
  }

  /// The kind of the event.
  package let kind: Kind
  /// The key of the request.
  package let key: ResilienceKey

  /// Creates an event; for tests of code that receives events.
  package init(_ kind: Kind, key: ResilienceKey) {
    self.kind = kind
    self.key = key
  }
}
