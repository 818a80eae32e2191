// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Turns the payload of a successful response into a model.
///
/// For 204, 205, 304 and responses to HEAD, the payload is always empty, even if the server sent a body.
public struct ModelDecoding<T: Sendable, Payload, Metadata>: Sendable {
  /// Decodes the payload, on the executor of the fetch (``NetworkStack``). An error that it throws becomes a
  /// ``DecodeFailure``.
  public let decode: @Sendable (_ payload: Payload, _ metadata: Metadata) throws -> T

  /// Wraps a closure.
  public init(decode: @escaping @Sendable (_ payload: Payload, _ metadata: Metadata) throws -> T) {
    self.decode = decode
  }

  /// Returns a decoding that transforms the decoded model.
  public func map<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> U) -> ModelDecoding<U, Payload, Metadata>
  {
    ModelDecoding<U, Payload, Metadata> { payload, metadata in try transform(try self.decode(payload, metadata)) }
  }
}

extension ModelDecoding where T == NoContent {
  /// A decoding that ignores the payload.
  public static var empty: Self { Self { _, _ in NoContent() } }
}

extension ModelDecoding where T == Payload {
  /// A decoding that returns the payload unchanged.
  public static var raw: Self { Self { payload, _ in payload } }
}

extension ModelDecoding where T == ResponseBody, Payload == Data {
  /// A decoding that returns the body to read: streamed from the network by `stream`, from memory by `fetch`.
  public static var streamed: Self { Self { payload, _ in ResponseBody(payload) } }
}

extension ModelDecoding where Payload == Data {
  /// Returns a decoding of JSON.
  ///
  /// An empty payload decodes to `nil` if the model is an optional, and to a value if it is ``NoContent``. For any
  /// other model, it fails with an error that says so.
  ///
  /// - Parameters:
  ///   - type: the type of the model.
  ///   - decoder: the decoder; its settings must not change any more. Default: the stack's
  ///     (``StackConfiguration/jsonDecoder``).
  public static func json(_ type: T.Type = T.self, decoder: JSONDecoder? = nil) -> Self where T: Decodable {
    Self { payload, _ in
      if payload.isEmpty {
        if T.self is NoContent.Type, let value = NoContent() as? T { return value }
        if let optional = T.self as? any ExpressibleByNilLiteral.Type, let value = optional.init(nilLiteral: ()) as? T {
          return value
        }
        throw EmptyPayload(model: "\(T.self)")
      }
      return try (decoder ?? JSONCoders.usualDecoder).decode(T.self, from: payload)
    }
  }
}

extension ModelDecoding where T == String, Payload == Data {
  /// A decoding of text by its charset: a byte order mark decides first, then the `charset` of `Content-Type`, and UTF-8
  /// if there is neither. It throws if the bytes are not text of that charset, or if the system's `iconv` does not know
  /// the charset.
  public static var text: Self {
    Self { payload, metadata in
      try TextDecoding.text(
        of: payload, contentType: (metadata as? ResourceResponse)?.headerFields[.contentType])
    }
  }
}

private struct EmptyPayload: Error, CustomStringConvertible {
  var model: String
  var description: String {
    "the response has no body, and \(model) cannot be made of nothing (an optional model, or NoContent, can)"
  }
}
