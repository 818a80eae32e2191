// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A lease of an endpoint for one attempt, from an ``EndpointSet``. It cannot be copied, and is returned automatically
/// if it is dropped.
public struct EndpointLease: ~Copyable, Sendable {
  /// The endpoint.
  package let endpoint: Endpoint
  private let set: EndpointSet
  private let index: Int
  private var isOut = true

  /// The origin to which the attempt is sent.
  public var origin: Origin { endpoint.origin }

  init(set: EndpointSet, index: Int, endpoint: Endpoint) {
    self.set = set
    self.index = index
    self.endpoint = endpoint
  }

  /// Reports a response of the endpoint.
  ///
  /// - Parameter latency: the time until the response.
  public consuming func end(latency: Duration) { end(.success, latency: latency) }

  /// Reports a failed fetch. The endpoint is blamed for the last attempt: for 5xx other than 501 and 505, for 408, and
  /// for a connection that failed or timed out. A fetch that failed locally, or was cancelled, has no effect.
  ///
  /// - Parameters:
  ///   - error: the error of the fetch.
  ///   - latency: the time until the failure.
  public consuming func end<APIError>(_ error: HTTPFetchError<APIError>, latency: Duration) {
    end(AttemptOutcome(error).verdict, latency: latency)
  }

  /// Reports how the attempt ended.
  ///
  /// - Parameters:
  ///   - verdict: the attempt's verdict on the server.
  ///   - latency: the time until the response.
  package consuming func end(_ verdict: AttemptVerdict, latency: Duration) {
    isOut = false
    set.end(index, verdict, latency)
  }

  deinit {
    if isOut { set.end(index, .ignored, .zero) }
  }
}
