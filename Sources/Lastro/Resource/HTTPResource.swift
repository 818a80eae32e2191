// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// One thing to fetch over HTTP: how its request is made, and what its answers mean.
///
/// A value that does not change while it is fetched. The typed calls of an API are static factories, each declared
/// once:
///
/// ```swift
/// extension HTTPResource where Model == Repository, APIError == GitHubError {
///   static func repository(_ owner: String, _ name: String) -> Self { .init(GitHub.repository(owner, name)) }
/// }
/// let repository = try await github.fetch(.repository("apple", "swift")).value
/// ```
public struct HTTPResource<Model: Sendable, APIError: Error>: Sendable {
  /// Makes the base request, for every attempt.
  public var baseRequestMaking: BaseRequestMaking<ResourceRequest>
  /// Decodes the body of a 2xx answer.
  public var decoding: ModelDecoding<Model, Data, ResourceResponse>
  /// Decodes the body of any other answer.
  public var errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>
  /// Interceptors, after those of the stack.
  public var interceptors: [any HTTPResourceInterceptor] {
    get { chain.all }
    set { chain = InterceptorChain(newValue) }
  }
  /// The same with the hooks that each has: a resource that is fetched often pays for them once.
  private(set) var chain: InterceptorChain
  /// Says which of the interceptors' actions prevails.
  public var retryActionPriority: Retry.Action.CompareClosure
  /// Options that take precedence over those of the base request, where set.
  public var options: RequestOptions

  /// Makes a resource.
  ///
  /// - Parameters:
  ///   - baseRequestMaking: makes the base request.
  ///   - decoding: decodes the model.
  ///   - errorDecoding: decodes the API's errors.
  ///   - interceptors: interceptors, after those of the stack. Default none.
  ///   - retryActionPriority: default ``Retry/Action/mostPrioritary(_:_:)``.
  ///   - options: default: nothing set.
  public init(
    baseRequestMaking: BaseRequestMaking<ResourceRequest>, decoding: ModelDecoding<Model, Data, ResourceResponse>,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>, interceptors: [any HTTPResourceInterceptor] = [],
    retryActionPriority: @escaping Retry.Action.CompareClosure = Retry.Action.mostPrioritary,
    options: RequestOptions = RequestOptions()
  ) {
    self.baseRequestMaking = baseRequestMaking
    self.decoding = decoding
    self.errorDecoding = errorDecoding
    chain = InterceptorChain(interceptors)
    self.retryActionPriority = retryActionPriority
    self.options = options
  }

  /// Makes a resource out of an endpoint.
  ///
  /// - Parameters:
  ///   - endpoint: makes the base request.
  ///   - decoding: decodes the model.
  ///   - errorDecoding: decodes the API's errors.
  ///   - interceptors: interceptors, after those of the stack. Default none.
  ///   - options: default: nothing set.
  public init(
    _ endpoint: some HTTPResourceEndpoint, decoding: ModelDecoding<Model, Data, ResourceResponse>,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>,
    interceptors: [any HTTPResourceInterceptor] = [], options: RequestOptions = RequestOptions()
  ) {
    self.init(
      baseRequestMaking: .endpoint(endpoint), decoding: decoding, errorDecoding: errorDecoding,
      interceptors: interceptors, options: options)
  }
}

extension HTTPResource where APIError: Decodable {
  /// Makes a resource out of an endpoint whose errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``; `decoder` is the
  /// stack's unless another is given.
  public init(
    _ endpoint: some HTTPResourceEndpoint, decoding: ModelDecoding<Model, Data, ResourceResponse>,
    decoder: JSONDecoder? = nil, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) {
    self.init(
      endpoint, decoding: decoding, errorDecoding: .json(decoder: decoder), interceptors: interceptors,
      options: options)
  }
}

extension HTTPResource where Model == ResponseBody, APIError: Decodable {
  /// Makes a resource to stream out of an endpoint whose errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``; `decoder` is the
  /// stack's unless another is given.
  public init(
    _ endpoint: some HTTPResourceEndpoint, decoder: JSONDecoder? = nil,
    interceptors: [any HTTPResourceInterceptor] = [], options: RequestOptions = RequestOptions()
  ) {
    self.init(
      endpoint, decoding: .streamed, errorDecoding: .json(decoder: decoder), interceptors: interceptors,
      options: options)
  }
}

extension HTTPResource where Model: Decodable, APIError: Decodable {
  /// Makes a resource out of an endpoint whose models and errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``; `decoder` is the
  /// stack's unless another is given.
  public init(
    _ endpoint: some HTTPResourceEndpoint, decoder: JSONDecoder? = nil,
    interceptors: [any HTTPResourceInterceptor] = [], options: RequestOptions = RequestOptions()
  ) {
    self.init(
      endpoint, decoding: .json(decoder: decoder), errorDecoding: .json(decoder: decoder),
      interceptors: interceptors, options: options)
  }
}
