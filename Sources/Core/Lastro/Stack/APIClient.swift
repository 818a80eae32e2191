// SPDX-License-Identifier: Apache-2.0

/// A stack for one API. It accepts only resources whose errors are of that API's type.
///
/// Two APIs may therefore have factories of the same name. The compiler rejects a resource of the other API, whose
/// credentials, pins and base URL are different.
///
/// ```swift
/// let shop = APIClient<ShopError>(shopStack)
/// let rates = APIClient<RatesError>(ratesStack)
/// let price = try await shop.fetch(.item(1)).value    // not the rates' `item(_:)`
/// ```
///
/// APIs that share an error type, such as one of RFC 9457, must each wrap it in a type of their own.
public struct APIClient<APIError: Error>: Sendable {
  /// The stack that performs the fetches.
  public let stack: any HTTPNetworkStack

  /// Makes a client of a stack.
  public init(_ stack: any HTTPNetworkStack) { self.stack = stack }

  /// Fetches a resource of the API and decodes its model; see ``HTTPNetworkStack/fetch(_:)``.
  ///
  /// - Throws: ``HTTPFetchError`` with the API's own error, if the API sent one.
  public func fetch<Model>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    try await stack.fetch(resource)
  }

  /// Opens a resource of the API as a stream; see ``HTTPNetworkStack/stream(_:)``.
  ///
  /// - Throws: the errors of ``fetch(_:)``. Failures of the body itself are thrown by ``ResponseBody``.
  public func stream<Model>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
    try await stack.stream(resource)
  }
}
