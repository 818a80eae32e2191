// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A change of a JSON object by the members that differ: JSON Merge Patch (RFC 7396).
///
/// ```swift
/// let patch: MergePatch = ["title": "Hello!", "author": ["familyName": .remove], "tags": .value(["example"])]
/// request.body = try .mergePatch(patch)
/// ```
///
/// An `Encodable` model cannot express a merge patch if a member is to be removed: encoders omit properties that are
/// `nil`.
public struct MergePatch: Sendable, Encodable, ExpressibleByDictionaryLiteral {
  /// The change of a member.
  public enum Change: Sendable {
    /// Removes the member.
    case remove
    /// Sets the member to a value. An array is replaced as a whole; an object is merged with the object that the server
    /// has, so members that are to go must be removed explicitly.
    case value(any Encodable & Sendable)
    /// Changes members of the object that is the member's value, and makes that object if there is none.
    case members(MergePatch)
  }

  /// A member's name in a literal.
  public typealias Key = String
  /// A member's change in a literal.
  public typealias Value = Change

  /// The changes by the names of members. The last one of a repeated name counts.
  public var changes: [String: Change]

  /// Makes a patch.
  public init(_ changes: [String: Change] = [:]) { self.changes = changes }

  /// Makes a patch from a literal.
  public init(dictionaryLiteral elements: (String, Change)...) {
    changes = Dictionary(elements, uniquingKeysWith: { $1 })
  }

  /// Encodes the patch as an object.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, change) in changes {
      let key = Name(stringValue: name)
      switch change {
      case .remove: try container.encodeNil(forKey: key)
      case .value(let value): try container.encode(AnyValue(value: value), forKey: key)
      case .members(let patch): try container.encode(patch, forKey: key)
      }
    }
  }

  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

/// A value of any type, so that encoders apply their strategies to it.
struct AnyValue: Encodable {
  var value: any Encodable & Sendable

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

extension MergePatch.Change: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral, ExpressibleByDictionaryLiteral
{
  /// Sets the member to a string.
  public init(stringLiteral value: String) { self = .value(value) }
  /// Sets the member to an integer.
  public init(integerLiteral value: Int) { self = .value(value) }
  /// Sets the member to `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .value(value) }
  /// Sets the member to a number.
  public init(floatLiteral value: Double) { self = .value(value) }
  /// Changes members of the object that is the member's value.
  public init(dictionaryLiteral elements: (String, MergePatch.Change)...) {
    self = .members(MergePatch(Dictionary(elements, uniquingKeysWith: { $1 })))
  }
}

extension RequestBody {
  /// Returns a body of type `application/merge-patch+json` (RFC 7396).
  ///
  /// - Parameter patch: a ``MergePatch``, or a model whose properties are the members to set.
  /// - Throws: the errors of the encoder, which is the stack's within a call.
  public static func mergePatch(_ patch: some Encodable & Sendable) throws -> RequestBody {
    try json(patch).ofType("application/merge-patch+json")
  }
}
