// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Turns the payload of a successful answer into a model.
///
/// For 204, 205 and answers to HEAD the payload is empty, whatever the server sent.
public struct ModelDecoding<T: Sendable, Payload, Metadata>: Sendable {
  /// Decodes, where the fetch runs: see ``NetworkStack``. What it throws becomes a ``DecodeFailure``.
  public let decode: @Sendable (_ payload: Payload, _ metadata: Metadata) throws -> T

  /// Wraps a closure.
  public init(decode: @escaping @Sendable (_ payload: Payload, _ metadata: Metadata) throws -> T) {
    self.decode = decode
  }

  /// Makes another model out of this one.
  public func map<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> U) -> ModelDecoding<U, Payload, Metadata>
  {
    ModelDecoding<U, Payload, Metadata> { payload, metadata in try transform(try self.decode(payload, metadata)) }
  }
}

extension ModelDecoding where T == NoContent {
  /// Ignores the payload.
  public static var empty: Self { Self { _, _ in NoContent() } }
}

extension ModelDecoding where T == Payload {
  /// The payload as it is.
  public static var raw: Self { Self { payload, _ in payload } }
}

extension ModelDecoding where T == ResponseBody, Payload == Data {
  /// The body to be read: of a stream as it comes, of a fetch from memory.
  public static var streamed: Self { Self { payload, _ in ResponseBody(payload) } }
}

extension ModelDecoding where Payload == Data {
  /// JSON.
  ///
  /// An empty payload gives `nil` where the model is an optional, and ``NoContent``; else it is a failure that says so.
  ///
  /// - Parameters:
  ///   - type: the model.
  ///   - decoder: its settings must not change any more. Default: the stack's (``StackConfiguration/jsonDecoder``).
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
  /// UTF-8 text; bytes that are not UTF-8 are a failure.
  public static var text: Self {
    Self { payload, _ in
      guard let text = String(validating: payload, as: UTF8.self) else { throw NotUTF8() }
      return text
    }
  }
}

private struct EmptyPayload: Error, CustomStringConvertible {
  var model: String
  var description: String {
    "the response has no body, and \(model) cannot be made of nothing (an optional model, or NoContent, can)"
  }
}

private struct NotUTF8: Error, CustomStringConvertible {
  var description: String { "the body is not UTF-8 text" }
}
