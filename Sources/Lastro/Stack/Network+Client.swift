// SPDX-License-Identifier: Apache-2.0

extension Network {
  /// A stack for one API: it takes the resources whose errors are that API's, and no others.
  ///
  /// So two APIs may have factories of one name, and the compiler refuses what belongs to the other: its credentials,
  /// pins and base URL are not these.
  ///
  /// ```swift
  /// let shop = Network.Client<ShopError>(shopStack)
  /// let rates = Network.Client<RatesError>(ratesStack)
  /// let price = try await shop.fetch(.item(1)).value    // not the rates' `item(_:)`
  /// ```
  ///
  /// APIs that share a type of errors, such as one of RFC 9457, each need a type of their own around it.
  public struct Client<APIError: Error>: Sendable {
    /// What fetches.
    public let stack: any HTTPNetworkStack

    /// Takes a stack.
    public init(_ stack: any HTTPNetworkStack) { self.stack = stack }

    /// Fetches a resource of the API and decodes its model; see ``HTTPNetworkStack/fetch(_:)``.
    ///
    /// - Throws: ``HTTPFetchError`` with the API's own error, where it sent one.
    public func fetch<Model>(
      _ resource: HTTPResource<Model, APIError>
    ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse> {
      try await stack.fetch(resource)
    }

    /// Opens a resource of the API as a stream; see ``HTTPNetworkStack/stream(_:)``.
    ///
    /// - Throws: as ``fetch(_:)``. Failures of the body itself are thrown by ``ResponseBody``.
    public func stream<Model>(
      _ resource: HTTPResource<Model, APIError>
    ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
      try await stack.stream(resource)
    }
  }
}
