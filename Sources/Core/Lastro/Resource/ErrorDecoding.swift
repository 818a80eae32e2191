// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Turns the payload of a response outside 200–299 into the API's own error.
///
/// ```swift
/// let errors = ErrorDecoding<Problem, Data, ResourceResponse>.json()
/// ```
public struct ErrorDecoding<APIError: Error, Payload, Metadata>: Sendable {
  /// Decodes the payload; returns `nil` if there is nothing to decode.
  ///
  /// An error that it throws never hides the status: it is reported in addition, in
  /// ``HTTPFetchError/apiErrorDecodingFailure``.
  public let decode: @Sendable (_ payload: Payload?, _ metadata: Metadata) throws -> APIError?

  /// Wraps a closure.
  public init(decode: @escaping @Sendable (_ payload: Payload?, _ metadata: Metadata) throws -> APIError?) {
    self.decode = decode
  }

  /// A decoding that always returns `nil`: the API has no errors of its own.
  public static var dummy: Self { Self { _, _ in nil } }

  /// Returns a decoding that transforms the decoded error.
  public func map<Other: Error>(
    _ transform: @escaping @Sendable (APIError) throws -> Other
  ) -> ErrorDecoding<Other, Payload, Metadata> {
    ErrorDecoding<Other, Payload, Metadata> { payload, metadata in
      try self.decode(payload, metadata).map(transform)
    }
  }
}

extension ErrorDecoding where Payload == Data {
  /// Returns a decoding of JSON. It returns `nil` for an absent or empty payload.
  ///
  /// - Parameters:
  ///   - type: the type of the error.
  ///   - decoder: the decoder; its settings must not change any more. Default: the stack's
  ///     (``StackConfiguration/jsonDecoder``).
  public static func json(_ type: APIError.Type = APIError.self, decoder: JSONDecoder? = nil) -> Self
  where APIError: Decodable {
    Self { payload, _ in
      guard let payload, !payload.isEmpty else { return nil }
      return try (decoder ?? JSONCoders.usualDecoder).decode(APIError.self, from: payload)
    }
  }
}

extension ErrorDecoding where APIError == TextAPIError, Payload == Data {
  /// A decoding of text by its charset (``ModelDecoding/text``), such as an error page. It returns `nil` for an absent or
  /// empty payload, and throws if the bytes are not text of that charset.
  public static var text: Self {
    Self { payload, metadata in
      guard let payload, !payload.isEmpty else { return nil }
      var error = TextAPIError(text: try ModelDecoding<String, Data, Metadata>.text.decode(payload, metadata))
      if let response = metadata as? ResourceResponse { error.redaction = response.redaction }
      return error
    }
  }
}

extension ErrorDecoding where APIError == any Error, Payload == Data {
  /// Returns a decoding of JSON into a concrete type, for resources whose errors are `any Error`. Default `decoder`:
  /// the stack's.
  public static func json<E: Error & Decodable>(_ type: E.Type, decoder: JSONDecoder? = nil) -> Self {
    ErrorDecoding<E, Payload, Metadata>.json(type, decoder: decoder).map { $0 }
  }
}
