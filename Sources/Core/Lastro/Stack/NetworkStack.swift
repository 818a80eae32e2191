// SPDX-License-Identifier: Apache-2.0

/// A stack that fetches resources. A type that implements ``fetch(_:)`` gets decoding and the callback forms from
/// extensions. They run on the concurrent pool, or on the executor that the caller's task prefers.
public protocol NetworkStack: Sendable {
  /// The resource to fetch: the unit of work.
  associatedtype Resource: Sendable
  /// The payload before decoding, typically bytes.
  associatedtype Remote: Sendable
  /// The request of the underlying client.
  associatedtype Request: Sendable = Resource
  /// The response of the underlying client, without the payload.
  associatedtype Response: Sendable
  /// The error of a failed fetch.
  associatedtype FetchError: Error

  /// Fetches a resource. Cancelling the task ends the fetch promptly.
  ///
  /// - Throws: the stack's error if the fetch fails; if the task is cancelled, the stack's cancelled error.
  func fetch(_ resource: Resource) async throws(FetchError) -> Fetched<Remote, Response>
}
