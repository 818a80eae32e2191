// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension HTTPResource where Model: Decodable, APIError: Decodable {
  /// Gets a URL; model and errors are JSON.
  ///
  /// ```swift
  /// let user = try await stack.fetch(.get("https://api.example.com/me", as: User.self, or: Problem.self)).value
  /// ```
  ///
  /// The URL is read when the resource is fetched, as
  /// ``ResourceRequest/init(method:url:headers:body:options:)-(HTTPRequest.Method,_,_,_,_)`` reads it: one that is
  /// malformed fails the fetch with stage `request`. Calls of an API that a program makes in several places are better
  /// declared once, as an ``HTTPResourceEndpoint``.
  ///
  /// - Parameters:
  ///   - url: absolute, `http` or `https`; or a path that begins with `/`, below ``StackConfiguration/baseURL``.
  ///   - query: added to the URL's query, percent-encoded; `nil` adds a name without a value. Default none.
  ///   - headers: header fields. Default none.
  ///   - model: what the body of a 2xx answer is.
  ///   - error: what the body of any other answer is.
  ///   - decoder: for model and errors. Default: the stack's.
  ///   - options: default: nothing set.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    as model: Model.Type = Model.self, or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, as: model, or: error, decoder: decoder, options: options)
  }

  /// Posts a value as JSON; model and errors are JSON too. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
  ///
  /// The value is encoded anew for every attempt, by the stack's encoder unless another is given, whose settings must
  /// not change any more. What encoding throws fails the fetch before anything is sent.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    as model: Model.Type = Model.self, or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), as: model, or: error,
      decoder: decoder, options: options)
  }

  /// Sends a request to a URL; model and errors are JSON.
  ///
  /// - Parameters:
  ///   - method: such as `.put`.
  ///   - url: absolute, `http` or `https`; or a path that begins with `/`, below ``StackConfiguration/baseURL``.
  ///   - query: added to the URL's query, percent-encoded; `nil` adds a name without a value. Default none.
  ///   - headers: header fields. Default none.
  ///   - body: made anew for every attempt. What making it throws fails the fetch before anything is sent. Default: no
  ///     body.
  ///   - model: what the body of a 2xx answer is; ``NoContent`` where it carries nothing.
  ///   - error: what the body of any other answer is.
  ///   - decoder: for model and errors. Default: the stack's.
  ///   - options: default: nothing set.
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
  /// Gets a URL; the model is JSON, and errors are kept as text.
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

  /// Posts a value as JSON; the model is JSON too, and errors are kept as text. The parameters are those of
  /// ``post(_:json:encoder:headers:as:or:decoder:options:)``.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    as model: Model.Type = Model.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), as: model,
      decoder: decoder, options: options)
  }

  /// Sends a request to a URL; the model is JSON, and errors are kept as text. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
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
  /// Gets a URL, to be streamed; errors are JSON. The parameters are those of
  /// ``get(_:query:headers:as:or:decoder:options:)``.
  public static func get(
    _ url: String, query: KeyValuePairs<String, String?> = [:], headers: RawHeaders = [:],
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(.get, url, query: query, headers: headers, or: error, decoder: decoder, options: options)
  }

  /// Posts a value as JSON, and streams the answer; errors are JSON. The parameters are those of
  /// ``post(_:json:encoder:headers:as:or:decoder:options:)``.
  public static func post(
    _ url: String, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, headers: RawHeaders = [:],
    or error: APIError.Type = APIError.self, decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self {
    send(
      .post, url, headers: headers, body: try .json(value, encoder: encoder), or: error, decoder: decoder,
      options: options)
  }

  /// Sends a request to a URL, and streams the answer; errors are JSON. The parameters are those of
  /// ``send(_:_:query:headers:body:as:or:decoder:options:)``.
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
  /// Gets the bytes at a URL, to fetch or to stream; errors are kept as ``TextAPIError``.
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

  /// Sends a request to a URL, and takes the bytes of its answer; errors are kept as ``TextAPIError``.
  /// The parameters are those of ``send(_:_:query:headers:body:as:or:decoder:options:)``.
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
