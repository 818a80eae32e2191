// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

// Calls that people write first. None of them can be called: the compiler says what to write instead.

extension HTTPNetworkStack {
  /// Exists only so that the compiler can explain how to fetch an endpoint, which defines no model. It cannot be
  /// called.
  ///
  /// - Throws: nothing, because it cannot be called.
  @available(*, unavailable, message: "fetch a resource: HTTPResource<Model, APIError>(endpoint), or .raw(endpoint)")
  public func fetch(_ endpoint: some HTTPResourceEndpoint) async throws -> Fetched<Data, ResourceResponse> {
    try await fetch(.raw(endpoint))
  }

  /// Exists only so that the compiler can explain how to limit the time of one fetch. It cannot be called.
  ///
  /// - Throws: nothing, because it cannot be called.
  @available(*, unavailable, message: "set the timeouts of the resource: options: RequestOptions(timeouts: …)")
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, timeout: Duration
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    try await fetch(resource)
  }

  /// Exists only so that the compiler can explain that a fetch returns a model with its response. It cannot be called.
  ///
  /// - Throws: nothing, because it cannot be called.
  @available(*, unavailable, message: "write .value behind the call: a fetch returns the model and its response")
  @_disfavoredOverload
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Model {
    try await fetch(resource).value
  }

  /// Exists only so that the compiler can explain how to fetch a URL. It cannot be called.
  ///
  /// - Throws: nothing, because it cannot be called.
  @available(*, unavailable, message: "write fetch(.get(url))")
  public func get<Model>(
    _ url: some URLConvertible, query: Any? = nil, headers: Any? = nil, as model: Model.Type = Data.self
  ) async throws -> Fetched<Model, ResourceResponse> { throw CancellationError() }

  /// Exists only so that the compiler can explain how to send a value to a URL. It cannot be called.
  ///
  /// - Throws: nothing, because it cannot be called.
  @available(*, unavailable, message: "write fetch(.post(url, json: value)), or fetch(.send(.post, url, body: body))")
  public func post<Model>(
    _ url: some URLConvertible, json: Any? = nil, body: Any? = nil, query: Any? = nil, headers: Any? = nil,
    as model: Model.Type = Data.self
  ) async throws -> Fetched<Model, ResourceResponse> { throw CancellationError() }
}
