// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A list of changes of a JSON document: JSON Patch (RFC 6902). The server applies all of them or none.
///
/// ```swift
/// let patch: JSONPatch = [.test(["version"], 3), .replace(["title"], "Hello!"), .append(to: ["tags"], "new")]
/// request.body = try .jsonPatch(patch)
/// ```
public struct JSONPatch: Sendable, Encodable, ExpressibleByArrayLiteral {
  /// The path of a value: names of members and indices of arrays, from the outside in. Empty for the whole document.
  public struct Path: Sendable, Hashable, ExpressibleByArrayLiteral, CustomStringConvertible {
    /// The steps, unescaped.
    public var steps: [String]

    /// Makes a path.
    public init(_ steps: [String]) { self.steps = steps }

    /// Makes a path from a literal.
    public init(arrayLiteral elements: String...) { steps = elements }

    /// The path as a JSON Pointer (RFC 6901), with `~` and `/` in names escaped.
    public var description: String { steps.map { "/" + Self.escaped($0) }.joined() }

    /// Returns a step with `~` and `/` escaped. A character that combines with others is escaped as well.
    private static func escaped(_ step: String) -> String {
      var text = ""
      for scalar in step.unicodeScalars {
        switch scalar {
        case "~": text += "~0"
        case "/": text += "~1"
        default: text.unicodeScalars.append(scalar)
        }
      }
      return text
    }
  }

  /// A change.
  public struct Operation: Sendable, Encodable {
    private enum CodingKeys: CodingKey { case op, path, from, value }

    private var name: String
    private var path: Path
    private var from: Path?
    private var value: AnyValue?

    /// Adds a member, replaces it if it exists, or inserts a value before an index of an array (§4.1).
    public static func add(_ path: Path, _ value: some Encodable & Sendable) -> Self {
      Self(name: "add", path: path, value: AnyValue(value: value))
    }

    /// Adds a value at the end of an array (§4.1).
    public static func append(to array: Path, _ value: some Encodable & Sendable) -> Self {
      add(Path(array.steps + ["-"]), value)
    }

    /// Removes a value, which must exist (§4.2).
    public static func remove(_ path: Path) -> Self { Self(name: "remove", path: path) }

    /// Replaces a value, which must exist (§4.3).
    public static func replace(_ path: Path, _ value: some Encodable & Sendable) -> Self {
      Self(name: "replace", path: path, value: AnyValue(value: value))
    }

    /// Moves a value, which must exist (§4.4).
    public static func move(_ source: Path, to path: Path) -> Self { Self(name: "move", path: path, from: source) }

    /// Copies a value, which must exist (§4.5).
    public static func copy(_ source: Path, to path: Path) -> Self { Self(name: "copy", path: path, from: source) }

    /// Requires that a value equals another; otherwise the server applies nothing (§4.6).
    public static func test(_ path: Path, _ value: some Encodable & Sendable) -> Self {
      Self(name: "test", path: path, value: AnyValue(value: value))
    }

    /// Encodes the operation.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .op)
      try container.encode("\(path)", forKey: .path)
      try container.encodeIfPresent(from.map { "\($0)" }, forKey: .from)
      try container.encodeIfPresent(value, forKey: .value)
    }
  }

  /// The changes, in order.
  public var operations: [Operation]

  /// Makes a patch.
  public init(_ operations: [Operation] = []) { self.operations = operations }

  /// Makes a patch from a literal.
  public init(arrayLiteral elements: Operation...) { operations = elements }

  /// Encodes the patch as an array.
  public func encode(to encoder: any Encoder) throws { try operations.encode(to: encoder) }
}

extension RequestBody {
  /// Returns a body of type `application/json-patch+json` (RFC 6902).
  ///
  /// - Throws: the errors of the encoder, which is the stack's within a call.
  public static func jsonPatch(_ patch: JSONPatch) throws -> RequestBody {
    try json(patch).ofType("application/json-patch+json")
  }
}
