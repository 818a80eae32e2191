// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// A lease of an endpoint for one attempt, from an ``EndpointSet``. It cannot be copied, and is returned automatically
/// if it is dropped.
package struct EndpointLease: ~Copyable, Sendable {
  let set: EndpointSet
  let choice: EndpointChoice
  /// The call whose later attempts avoid the endpoint if this one fails; 0 for none.
  let callID: UInt64
  var isOut = true

  /// The endpoint.
  package var endpoint: Endpoint { choice.endpoint }
  /// The origin to which the attempt is sent.
  package var origin: Origin { endpoint.origin }

  /// Reports how the attempt ended.
  ///
  /// - Parameters:
  ///   - verdict: the attempt's verdict on the server.
  ///   - latency: the time until the response.
  package consuming func end(_ verdict: AttemptVerdict, latency: Duration) {
    isOut = false
    set.end(choice.id, verdict, latency, of: callID)
  }

  deinit {
    if isOut { set.end(choice.id, .ignored, .zero, of: 0) }
  }
}
