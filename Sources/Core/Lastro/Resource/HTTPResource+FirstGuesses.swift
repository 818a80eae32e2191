// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

// Calls that people write first, and that have no meaning: the compiler says what to write instead. None of them can be
// called, and the compiler considers them only where no other form fits.

extension HTTPResource where Model == Data, APIError == any Error {
  /// Exists only so that the compiler can explain how values that are no literals become query items and header fields.
  @available(
    *, unavailable,
    message: "write query: QueryItems(values), headers: RawHeaders(values); only literals convert"
  )
  @_disfavoredOverload
  public static func get(
    _ url: some URLConvertible, query: Any? = nil, headers: Any? = nil, options: RequestOptions = RequestOptions()
  ) -> Self { send(.get, url) }

  /// Exists only so that the compiler can explain how values that are no literals become query items and header fields.
  @available(
    *, unavailable,
    message: "write query: QueryItems(values), headers: RawHeaders(values); only literals convert"
  )
  @_disfavoredOverload
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, query: Any? = nil,
    headers: Any? = nil, options: RequestOptions = RequestOptions()
  ) -> Self { send(.post, url) }

  /// Exists only so that the compiler can explain how to send JSON whose values have several types.
  @available(
    *, unavailable,
    message:
      "JSON of values of several types needs a type: declare a struct that is Encodable, or send a body of .raw(data)"
  )
  @_disfavoredOverload
  public static func post(
    _ url: some URLConvertible, json value: [String: Any], encoder: JSONEncoder? = nil, query: Any? = nil,
    headers: Any? = nil, options: RequestOptions = RequestOptions()
  ) -> Self { send(.post, url) }

  /// Exists only so that the compiler can explain how values become a body, query items and header fields.
  @available(
    *, unavailable,
    message: "write body: .raw(value) or try .json(value), query: QueryItems(values), headers: RawHeaders(values)"
  )
  @_disfavoredOverload
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: Any? = nil, headers: Any? = nil, body: Any? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self { send(method, url) }
}

extension HTTPResource where Model: Decodable, APIError == TextAPIError {
  /// Exists only so that the compiler can explain how values that are no literals become query items and header fields.
  @available(
    *, unavailable,
    message: "write query: QueryItems(values), headers: RawHeaders(values); only literals convert"
  )
  @_disfavoredOverload
  public static func get(
    _ url: some URLConvertible, query: Any? = nil, headers: Any? = nil, as model: Model.Type = Model.self,
    or error: (some Decodable).Type = NoContent.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self { send(.get, url) }

  /// Exists only so that the compiler can explain how values that are no literals become query items and header fields.
  @available(
    *, unavailable,
    message: "write query: QueryItems(values), headers: RawHeaders(values); only literals convert"
  )
  @_disfavoredOverload
  public static func post(
    _ url: some URLConvertible, json value: some Encodable & Sendable, encoder: JSONEncoder? = nil, query: Any? = nil,
    headers: Any? = nil, as model: Model.Type = Model.self, or error: (some Decodable).Type = NoContent.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self { send(.post, url) }

  /// Exists only so that the compiler can explain how to send JSON whose values have several types.
  @available(
    *, unavailable,
    message:
      "JSON of values of several types needs a type: declare a struct that is Encodable, or send a body of .raw(data)"
  )
  @_disfavoredOverload
  public static func post(
    _ url: some URLConvertible, json value: [String: Any], encoder: JSONEncoder? = nil, query: Any? = nil,
    headers: Any? = nil, as model: Model.Type = Model.self, or error: (some Decodable).Type = NoContent.self,
    decoder: JSONDecoder? = nil, options: RequestOptions = RequestOptions()
  ) -> Self { send(.post, url) }

  /// Exists only so that the compiler can explain how values become a body, query items and header fields.
  @available(
    *, unavailable,
    message: "write body: .raw(value) or try .json(value), query: QueryItems(values), headers: RawHeaders(values)"
  )
  @_disfavoredOverload
  public static func send(
    _ method: HTTPRequest.Method, _ url: some URLConvertible, query: Any? = nil, headers: Any? = nil, body: Any? = nil,
    as model: Model.Type = Model.self, or error: (some Decodable).Type = NoContent.self, decoder: JSONDecoder? = nil,
    options: RequestOptions = RequestOptions()
  ) -> Self { send(method, url) }
}
