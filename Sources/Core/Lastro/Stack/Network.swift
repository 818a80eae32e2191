// SPDX-License-Identifier: Apache-2.0

/// The namespace of types that all network stacks share.
public enum Network {
  /// The result of a fetch: a value, and its response.
  public struct Value<T, Response> {
    /// The fetched value, such as a model.
    public let value: T
    /// The response that contained the value.
    public let response: Response

    /// Pairs a value with its response.
    public init(value: T, response: Response) {
      self.value = value
      self.response = response
    }

    /// Returns a copy whose value is the result of `transform`. The response stays the same.
    public func mapValue<U, Failure: Error>(
      _ transform: (T, Response) throws(Failure) -> U
    ) throws(Failure) -> Value<U, Response> {
      Value<U, Response>(value: try transform(value, response), response: response)
    }
  }
}

extension Network.Value: Sendable where T: Sendable, Response: Sendable {}
extension Network.Value: Equatable where T: Equatable, Response: Equatable {}

extension Network {
  /// A stack for one API. It accepts only resources whose errors are of that API's type.
  ///
  /// Two APIs may therefore have factories of the same name. The compiler rejects a resource of the other API, whose
  /// credentials, pins and base URL are different.
  ///
  /// ```swift
  /// let shop = Network.Client<ShopError>(shopStack)
  /// let rates = Network.Client<RatesError>(ratesStack)
  /// let price = try await shop.fetch(.item(1)).value    // not the rates' `item(_:)`
  /// ```
  ///
  /// APIs that share an error type, such as one of RFC 9457, must each wrap it in a type of their own.
  public struct Client<APIError: Error>: Sendable {
    /// The stack that performs the fetches.
    public let stack: any HTTPNetworkStack

    /// Makes a client of a stack.
    public init(_ stack: any HTTPNetworkStack) { self.stack = stack }

    /// Fetches a resource of the API and decodes its model; see ``HTTPNetworkStack/fetch(_:)``.
    ///
    /// - Throws: ``HTTPFetchError`` with the API's own error, if the API sent one.
    public func fetch<Model>(
      _ resource: HTTPResource<Model, APIError>
    ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse> {
      try await stack.fetch(resource)
    }

    /// Opens a resource of the API as a stream; see ``HTTPNetworkStack/stream(_:)``.
    ///
    /// - Throws: the errors of ``fetch(_:)``. Failures of the body itself are thrown by ``ResponseBody``.
    public func stream<Model>(
      _ resource: HTTPResource<Model, APIError>
    ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
      try await stack.stream(resource)
    }
  }
}

extension Network {
  /// A change of an engine's connection: it was opened, changed its state, or was closed.
  public struct ConnectionChange: Sendable, Hashable {
    /// The state of a connection, in OpenTelemetry's terms.
    public enum State: String, Sendable, Hashable {
      /// The connection carries a request, or was opened for one.
      case active
      /// The connection waits for the next request.
      case idle
    }

    /// The server's origin; the proxy's, if requests for many servers share the connection.
    public var origin: Origin
    /// The state before the change; `nil` if the connection was opened.
    public var from: State?
    /// The state after the change; `nil` if the connection was closed.
    public var to: State?
    /// The time since the connection was opened.
    public var age: Duration

    /// Makes a change, for tests of observers.
    public init(origin: Origin, from: State?, to: State?, age: Duration) {
      (self.origin, self.from, self.to, self.age) = (origin, from, to, age)
    }
  }
}
