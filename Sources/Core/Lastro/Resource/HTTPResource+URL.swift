// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

// Resources for a request to a URL that a program makes once. They differ in their model and in their error: both JSON;
// a JSON model and an error as text; a streamed body and a JSON error; and the bytes of the response.

extension HTTPResource where Model: Decodable, APIError: Decodable {
  /// Returns a resource that gets a URL. Its model and errors are JSON.
  ///
  /// ```swift
  /// let user = try await stack.fetch(.get("https://api.example.com/me", as: User.self, or: Problem.self)).value
  /// ```
  ///
  /// The URL is parsed when the resource is fetched, by the rules of
  /// ``ResourceRequest/init(method:url:headers:body:options:)-(HTTPRequest.Method,_,_,_,_)``. A malformed URL fails the
  /// fetch with stage `request`.
  /// If a program makes the same call in several places, declare it once, as an ``HTTPResourceEndpoint``. The
  /// parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func get(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, as: model, or: error, decoder: decoder, options: options)
  }

  /// Returns a resource that deletes a URL. Its model and errors are JSON. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func delete(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.delete, url, query: query, headers: headers, as: model, or: error, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON. Its model and errors are JSON.
  ///
  /// The value is encoded
  /// for every attempt, by `encoder` or else the stack's encoder, whose settings must not change any more. An error
  /// thrown by the encoder fails the fetch before anything is sent. The other parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .post, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder),
      errorDecoding: .json(decoder: decoder), options)
  }

  /// Returns a resource that puts a value as JSON. Its model and errors are JSON. The value is encoded as
  /// ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func put(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .put, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder),
      errorDecoding: .json(decoder: decoder), options)
  }

  /// Returns a resource that patches with a value as JSON. Its model and errors are JSON. The value is encoded as
  /// ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func patch(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .patch, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder),
      errorDecoding: .json(decoder: decoder), options)
  }

  /// Returns a resource that sends a request to a URL. Its model and errors are JSON.
  ///
  /// - Parameters:
  ///   - method: the request method.
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: an expression that makes the body. It is evaluated once, here. An error that it throws fails the fetch
  ///     before anything is sent. Default: no body.
  ///   - model: the type that the body of a 2xx response is decoded into; ``NoContent`` if the body is empty.
  ///   - error: the type that the body of any other response is decoded into.
  ///   - decoder: the decoder of model and errors. Default: the stack's.
  ///   - options: the request's options. Default: nothing set.
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    body: @autoclosure () throws -> RequestBody = .empty, as model: Model.Type = Model.self,
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    let body = Result { try body() }
    return Self(
      method, url, query, headers, decoding: .json(decoder: decoder), errorDecoding: .json(decoder: decoder), options,
      body.get)
  }
}

extension HTTPResource where Model: Decodable, APIError == TextAPIError {
  /// Returns a resource that gets a URL. Its model is JSON; errors are kept as text.
  ///
  /// ```swift
  /// let user = try await stack.fetch(.get("https://api.example.com/me", as: User.self)).value
  /// ```
  ///
  /// The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func get(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, as: model, decoder: decoder, options: options)
  }

  /// Returns a resource that deletes a URL. Its model is JSON; errors are kept as text. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func delete(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.delete, url, query: query, headers: headers, as: model, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON. Its model is JSON; errors are kept as text. The value is encoded as
  /// ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .post, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder), errorDecoding: .text, options
    )
  }

  /// Returns a resource that puts a value as JSON. Its model is JSON; errors are kept as text. The value is encoded as
  /// ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func put(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .put, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder), errorDecoding: .text, options)
  }

  /// Returns a resource that patches with a value as JSON. Its model is JSON; errors are kept as text. The value is
  /// encoded as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func patch(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], as model: Model.Type = Model.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .patch, url, query, headers, json: value, encoder, decoding: .json(decoder: decoder), errorDecoding: .text,
      options)
  }

  /// Returns a resource that sends a request to a URL. Its model is JSON; errors are kept as text.
  ///
  /// - Parameters:
  ///   - method: the request method.
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: an expression that makes the body. It is evaluated once, here. An error that it throws fails the fetch
  ///     before anything is sent. Default: no body.
  ///   - model: the type that the body of a 2xx response is decoded into; ``NoContent`` if the body is empty.
  ///   - decoder: the decoder of models. Default: the stack's.
  ///   - options: the request's options. Default: nothing set.
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    body: @autoclosure () throws -> RequestBody = .empty, as model: Model.Type = Model.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    let body = Result { try body() }
    return Self(
      method, url, query, headers, decoding: .json(decoder: decoder), errorDecoding: .text, options, body.get)
  }
}

extension HTTPResource where Model == ResponseBody, APIError: Decodable {
  /// Returns a resource that gets a URL. The response is streamed; its errors are JSON. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func get(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, or: error, decoder: decoder, options: options)
  }

  /// Returns a resource that posts a value as JSON. The response is streamed; its errors are JSON. The value is encoded
  /// as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], or error: APIError.Type = APIError.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .post, url, query, headers, json: value, encoder, decoding: .streamed, errorDecoding: .json(decoder: decoder),
      options)
  }

  /// Returns a resource that sends a request to a URL. The response is streamed; its errors are JSON.
  ///
  /// - Parameters:
  ///   - method: the request method.
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: an expression that makes the body. It is evaluated once, here. An error that it throws fails the fetch
  ///     before anything is sent. Default: no body.
  ///   - error: the type that the body of any other response is decoded into.
  ///   - decoder: the decoder of errors. Default: the stack's.
  ///   - options: the request's options. Default: nothing set.
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    body: @autoclosure () throws -> RequestBody = .empty, or error: APIError.Type = APIError.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    let body = Result { try body() }
    return Self(
      method, url, query, headers, decoding: .streamed, errorDecoding: .json(decoder: decoder), options, body.get)
  }
}

// Disfavored, because a call that names neither type asks for the bytes.
extension HTTPResource where Model == ResponseBody, APIError == TextAPIError {
  /// Returns a resource that gets a URL. The response is streamed; errors are kept as text. The parameters are those of
  /// ``send(_:_:query:headers:body:as:decoder:options:)``.
  @_disfavoredOverload
  public static func get(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(.get, url, query, headers, decoding: .streamed, errorDecoding: .text, options) { .empty }
  }

  /// Returns a resource that posts a value as JSON. The response is streamed; errors are kept as text. The value is
  /// encoded as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  @_disfavoredOverload
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(.post, url, query, headers, json: value, encoder, decoding: .streamed, errorDecoding: .text, options)
  }
}

extension HTTPResource where Model == Data, APIError == any Error {
  /// Returns a resource that gets the bytes at a URL, to fetch or to stream. Errors are kept as ``TextAPIError``.
  ///
  /// ```swift
  /// for try await chunk in try await stack.stream(.get("https://example.com/large")).value { … }
  /// ```
  ///
  /// The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func get(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, options: options)
  }

  /// Returns a resource that asks for the head of a URL. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``. The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func head(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.head, url, query: query, headers: headers, options: options)
  }

  /// Returns a resource that deletes a URL. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``. The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func delete(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.delete, url, query: query, headers: headers, options: options)
  }

  /// Returns a resource that posts a value as JSON. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``. The value is encoded as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .post, url, query, headers, json: value, encoder, decoding: .raw, errorDecoding: .asText, options)
  }

  /// Returns a resource that puts a value as JSON. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``. The value is encoded as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func put(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .put, url, query, headers, json: value, encoder, decoding: .raw, errorDecoding: .asText, options)
  }

  /// Returns a resource that patches with a value as JSON. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``. The value is encoded as ``post(_:json:encoder:query:headers:as:or:decoder:options:)`` describes.
  public static func patch(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil,
    query: QueryItems = [:], headers: RawHeaders = [:], options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(
      .patch, url, query, headers, json: value, encoder, decoding: .raw, errorDecoding: .asText, options)
  }

  /// Returns a resource that sends a request to a URL. Its model is the bytes of the response; errors are kept as
  /// ``TextAPIError``.
  ///
  /// - Parameters:
  ///   - method: the request method.
  ///   - url: an absolute `http` or `https` URL; or a path that begins with `/` and is appended to
  ///     ``StackConfiguration/baseURL``.
  ///   - query: items to append to the URL's query, percent-encoded. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: an expression that makes the body. It is evaluated once, here. An error that it throws fails the fetch
  ///     before anything is sent. Default: no body.
  ///   - options: the request's options. Default: nothing set.
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    body: @autoclosure () throws -> RequestBody = .empty, options: RequestOptions = RequestOptions()
  ) -> Self {
    let body = Result { try body() }
    return Self(
      method, url, query, headers, decoding: .raw, errorDecoding: .asText, options, body.get)
  }
}

extension HTTPResource where Model == String, APIError == TextAPIError {
  /// Returns a resource that gets a URL as text, decoded by its charset (``ModelDecoding/text``). Errors are kept as
  /// text.
  ///
  /// ```swift
  /// let page = try await stack.fetch(.text("https://example.com/")).value
  /// ```
  ///
  /// The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  public static func text(
    _ url: some URLConvertible, query: QueryItems = [:], headers: RawHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(.get, url, query, headers, decoding: .text, errorDecoding: .text, options) { .empty }
  }
}

extension ErrorDecoding where APIError == any Error, Payload == Data, Metadata == ResourceResponse {
  fileprivate static var asText: Self { ErrorDecoding<TextAPIError, Data, ResourceResponse>.text.map { $0 } }
}

extension HTTPResource {
  fileprivate init(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, _ query: QueryItems, _ headers: RawHeaders,
    json value: some Encodable & Sendable, _ encoder: JSONEncoder?,
    decoding: ModelDecoding<Model, Data, ResourceResponse>,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>, _ options: RequestOptions
  ) {
    self.init(method, url, query, headers, decoding: decoding, errorDecoding: errorDecoding, options) {
      try .jsonInCall(value, encoder: encoder)
    }
  }

  fileprivate init(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, _ query: QueryItems, _ headers: RawHeaders,
    decoding: ModelDecoding<Model, Data, ResourceResponse>,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>, _ options: RequestOptions,
    _ body: @escaping @Sendable () throws -> RequestBody
  ) {
    self.init(
      baseRequestMaking: .url(method, url.urlText, query.items, headers, body), decoding: decoding,
      errorDecoding: errorDecoding, options: options)
  }
}

extension BaseRequestMaking where Request == ResourceRequest {
  fileprivate static func url(
    _ method: HTTPRequest.Method, _ url: String, _ query: [(name: String, value: String?)], _ headers: RawHeaders,
    _ body: @escaping @Sendable () throws -> RequestBody
  ) -> Self {
    let isBelowStacks = url.hasPrefix("/") && !url.hasPrefix("//")
    let url = isBelowStacks ? RequestTarget.stacksBase + url : url
    var making = Self {
      let body = try body().encodedForStack()
      var request = try ResourceRequest(method: method, url: url, headers: headers, body: body)
      if !query.isEmpty {
        var target = try RequestTarget(url)
        target.append(queryItems: query)
        request.head.path = target.pathAndQuery
      }
      return request
    }
    if isBelowStacks { making.base = { RequestTarget.stacksBase } }
    return making
  }
}
