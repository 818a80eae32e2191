// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

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

extension HTTPResource where Model: Decodable, APIError: Decodable {
  /// Returns a resource that gets a URL. Its model and errors are JSON.
  ///
  /// ```swift
  /// let user = try await stack.fetch(.get("https://api.example.com/me", as: User.self, or: Problem.self)).value
  /// ```
  ///
  /// The URL is parsed when the resource is fetched, by the rules of
  /// ``ResourceRequest/init(method:url:headers:body:options:)-(HTTPRequest.Method,_,_,_,_)``. A malformed URL fails the
  /// fetch with stage `request`. If a program makes the same call in several places, declare it once, as an
  /// ``HTTPResourceEndpoint``.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded; `nil` adds a name without a value. Default none.
  ///   - headers: header fields. Default none.
  ///   - model: the type that the body of a 2xx response is decoded into.
  ///   - error: the type that the body of any other response is decoded into.
  ///   - decoder: the decoder of model and errors. Default: the stack's.
  ///   - options: the request's options. Default: nothing set.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    as model: Model.Type = Model.self, or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, as: model, or: error, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON. Its model and errors are JSON. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  ///
  /// The value is encoded for every attempt, by `encoder` or else the stack's encoder. The encoder's settings must not
  /// change any more. An error thrown by the encoder fails the fetch before anything is sent.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    as model: Model.Type = Model.self, or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), as: model, or: error,
      decoder: decoder, options: options)
  }

  /// Returns a resource that sends a request to a URL. Its model and errors are JSON.
  ///
  /// - Parameters:
  ///   - method: the request method, such as `.put`.
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded; `nil` adds a name without a value. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: an expression that makes the body; it is evaluated for every attempt. An error that it throws fails the
  ///     fetch before anything is sent. Default: no body.
  ///   - model: the type that the body of a 2xx response is decoded into; ``NoContent`` if the body is empty.
  ///   - error: the type that the body of any other response is decoded into.
  ///   - decoder: the decoder of model and errors. Default: the stack's.
  ///   - options: the request's options. Default: nothing set.
  public static func send(
    _ method: HTTPRequest.Method, _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    body: @autoclosure @escaping @Sendable () throws -> RequestBody = .empty, as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      baseRequestMaking: .url(method, url, query: query, headers: headers, body: body),
      decoding: .json(decoder: decoder), errorDecoding: .json(decoder: decoder), options: options)
  }
}

extension HTTPResource where Model: Decodable, APIError == TextAPIError {
  /// Returns a resource that gets a URL. Its model is JSON; errors are kept as text.
  ///
  /// ```swift
  /// let user = try await stack.fetch(.get("https://api.example.com/me", as: User.self)).value
  /// ```
  ///
  /// The parameters are those of ``get(_:query:headers:as:or:decoder:options:)``.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    as model: Model.Type = Model.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, as: model, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON. Its model is JSON; errors are kept as text. The parameters are
  /// those of ``post(_:json:encoder:headers:as:or:decoder:options:)``.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    as model: Model.Type = Model.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), as: model,
      decoder: decoder, options: options)
  }

  /// Returns a resource that sends a request to a URL. Its model is JSON; errors are kept as text. The parameters are
  /// those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func send(
    _ method: HTTPRequest.Method, _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    body: @autoclosure @escaping @Sendable () throws -> RequestBody = .empty, as model: Model.Type = Model.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      baseRequestMaking: .url(method, url, query: query, headers: headers, body: body),
      decoding: .json(decoder: decoder), errorDecoding: .text, options: options)
  }
}

extension HTTPResource where Model == ResponseBody, APIError: Decodable {
  /// Returns a resource that gets a URL and streams the response. Its errors are JSON. The parameters are those of
  /// ``get(_:query:headers:as:or:decoder:options:)``.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, or: error, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON and streams the response. Its errors are JSON. The parameters are
  /// those of ``post(_:json:encoder:headers:as:or:decoder:options:)``.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), or: error, decoder: decoder,
      options: options)
  }

  /// Returns a resource that sends a request to a URL and streams the response. Its errors are JSON. The parameters are
  /// those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func send(
    _ method: HTTPRequest.Method, _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    body: @autoclosure @escaping @Sendable () throws -> RequestBody = .empty, or error: APIError.Type = APIError.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      baseRequestMaking: .url(method, url, query: query, headers: headers, body: body), decoding: .streamed,
      errorDecoding: .json(decoder: decoder), options: options)
  }
}

extension HTTPResource where Model == Data, APIError == any Error {
  /// Returns a resource that gets the bytes at a URL, to fetch or to stream. Errors are kept as ``TextAPIError``.
  ///
  /// ```swift
  /// for try await chunk in try await stack.stream(.get("https://example.com/large")).value { … }
  /// ```
  ///
  /// The parameters are those of ``get(_:query:headers:as:or:decoder:options:)``.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, options: options)
  }

  /// Returns a resource that sends a request to a URL, and whose model is the bytes of the response. Errors are kept as
  /// ``TextAPIError``. The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func send(
    _ method: HTTPRequest.Method, _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    body: @autoclosure @escaping @Sendable () throws -> RequestBody = .empty, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      baseRequestMaking: .url(method, url, query: query, headers: headers, body: body),
      errorDecoding: ErrorDecoding<TextAPIError, Data, ResourceResponse>.text.map { $0 }, options: options)
  }
}

extension BaseRequestMaking where Request == ResourceRequest {
  fileprivate static func url(
    _ method: HTTPRequest.Method, _ url: String, query: KeyValuePairs<String, String?>, headers: RawHeaders,
    body: @escaping @Sendable () throws -> RequestBody
  ) -> Self {
    let isBelowStacks = url.hasPrefix("/") && !url.hasPrefix("//")
    let url = isBelowStacks ? RequestTarget.stacksBase + url : url
    var making = Self {
      var request = try ResourceRequest(method: method, url: url, headers: headers, body: try body())
      if !query.isEmpty {
        var target = try RequestTarget(url)
        target.append(queryItems: query.map { ($0.key, $0.value) })
        request.head.path = target.pathAndQuery
      }
      return request
    }
    if isBelowStacks { making.base = { RequestTarget.stacksBase } }
    return making
  }
}
