// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import HTTPTypes

/// A resource to fetch over HTTP. It defines how its request is made and how responses are decoded.
///
/// A resource is a value, so it does not change while it is fetched. Declare each typed call of an API once, as a
/// static factory:
///
/// ```swift
/// extension HTTPResource where Model == Repository, APIError == GitHubError {
///   static func repository(_ owner: String, _ name: String) -> Self { .init(GitHub.repository(owner, name)) }
/// }
/// let repository = try await github.fetch(.repository("apple", "swift")).value
/// ```
public struct HTTPResource<Model: Sendable, APIError: Error>: Sendable {
  /// The maker of the base request, called for every attempt.
  public var baseRequestMaking: BaseRequestMaking<ResourceRequest>
  /// The decoding of the body of a 2xx response.
  public var decoding: ModelDecoding<Model, Data, ResourceResponse>
  /// The decoding of the body of any other response.
  public var errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>
  /// The resource's interceptors, which run after those of the stack.
  public var interceptors: [any HTTPResourceInterceptor] {
    get { chain.all }
    set { chain = InterceptorChain(newValue) }
  }
  /// The interceptors with the hooks that each has, determined once for a resource that is fetched often.
  private(set) var chain: InterceptorChain
  /// The function that decides which of the interceptors' actions prevails.
  public var retryActionPriority: Retry.Action.CompareClosure
  /// The options of the resource. Each option that is set takes precedence over that of the base request.
  public var options: RequestOptions

  /// Makes a resource.
  ///
  /// - Parameters:
  ///   - baseRequestMaking: the maker of the base request.
  ///   - decoding: the decoding of the model.
  ///   - errorDecoding: the decoding of the API's errors.
  ///   - interceptors: interceptors that run after those of the stack. Default none.
  ///   - retryActionPriority: the function that decides which action prevails. Default
  ///     ``Retry/Action/mostPrioritary(_:_:)``.
  ///   - options: the resource's options. Default: nothing set.
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

  /// Makes a resource from an endpoint.
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint that makes the base request.
  ///   - decoding: the decoding of the model.
  ///   - errorDecoding: the decoding of the API's errors.
  ///   - interceptors: interceptors that run after those of the stack. Default none.
  ///   - options: the resource's options. Default: nothing set.
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
  /// Makes a resource from an endpoint whose errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``. Default `decoder`: the
  /// stack's.
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
  /// Makes a streamed resource from an endpoint whose errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``. Default `decoder`: the
  /// stack's.
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
  /// Makes a resource from an endpoint whose models and errors are JSON.
  ///
  /// The parameters are those of ``init(_:decoding:errorDecoding:interceptors:options:)``. Default `decoder`: the
  /// stack's.
  public init(
    _ endpoint: some HTTPResourceEndpoint, decoder: JSONDecoder? = nil,
    interceptors: [any HTTPResourceInterceptor] = [], options: RequestOptions = RequestOptions()
  ) {
    self.init(
      endpoint, decoding: .json(decoder: decoder), errorDecoding: .json(decoder: decoder),
      interceptors: interceptors, options: options)
  }
}

extension HTTPResource {
  /// Returns a resource that is fetched only if it has changed since a response. Its model is `nil` if the server
  /// responds that it has not changed (304, RFC 9110 §15.4.5).
  ///
  /// ```swift
  /// let octocat = HTTPResource.user("octocat")
  /// let first = try await stack.fetch(octocat)
  /// if let changed = try await stack.fetch(octocat.ifModified(since: first.response)).value { … }
  /// ```
  ///
  /// The `ETag` and `Last-Modified` of the response become `If-None-Match` and `If-Modified-Since` (RFC 9110 §13.1). If
  /// the response had neither, the request is unconditional.
  public func ifModified(since response: ResourceResponse) -> HTTPResource<Model?, APIError> {
    let (tag, date) = (response.headerFields[.eTag], response.headerFields[.lastModified])
    let decoding = decoding
    return HTTPResource<Model?, APIError>(
      baseRequestMaking: baseRequestMaking.changing { request in
        if let tag { request.head.headerFields[.ifNoneMatch] = tag }
        if let date { request.head.headerFields[.ifModifiedSince] = date }
      },
      decoding: ModelDecoding { payload, response in
        response.status == .notModified ? nil : try decoding.decode(payload, response)
      },
      errorDecoding: errorDecoding, interceptors: interceptors, retryActionPriority: retryActionPriority,
      options: options)
  }
}
