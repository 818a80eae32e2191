// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// Makes values from the schemas of an OpenAPI 3 document.
struct MockSchema: Sendable {
  /// The limit for schemas that contain themselves.
  private static let maximumDepth = 8
  /// The limits for each response, because a schema may have many properties, or long texts, at each depth. The value
  /// that exceeds the number of bytes is the last.
  private struct Budget {
    var values = 10_000
    var bytes = 1 << 20

    var isSpent: Bool { values <= 0 || bytes <= 0 }
  }

  let root: JSONValue

  /// Returns a value, or the one that it refers to within the document. References elsewhere are not followed.
  func resolved(_ value: JSONValue) -> JSONValue {
    var value = value
    for _ in 0..<Self.maximumDepth {
      guard case .string(let reference)? = value["$ref"], reference.hasPrefix("#/") else { return value }
      var target: JSONValue? = root
      for part in reference.dropFirst(2).split(separator: "/", omittingEmptySubsequences: false) {
        // The pointer is a fragment of a URL (RFC 6901 §6).
        let key = part.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? String(part)
        target = target?.member(key.replacing("~1", with: "/").replacing("~0", with: "~"))
      }
      guard let target else { return .null }
      value = target
    }
    return .null
  }

  /// Returns the first example of a media type, a header or a schema; `nil` if it has none.
  func example(of value: JSONValue) -> JSONValue? {
    if let example = value["example"] { return example }
    if let first = value["examples"].members.first { return resolved(first.value)["value"] }
    return value["examples"].elements.first
  }

  /// Returns a value of a schema.
  func value(of schema: JSONValue) -> JSONValue {
    var left = Budget()
    return value(of: schema, depth: 0, &left)
  }

  private func value(of schema: JSONValue, depth: Int, _ left: inout Budget) -> JSONValue {
    left.values -= 1
    guard depth < Self.maximumDepth, !left.isSpent else { return .null }
    let schema = resolved(schema)
    if let value = schema["const"] ?? schema["default"] ?? example(of: schema) ?? schema["enum"].elements.first {
      left.bytes -= value.text.utf8.count
      return value
    }
    if let first = (schema["oneOf"] ?? schema["anyOf"]).elements.first {
      return value(of: first, depth: depth + 1, &left)
    }
    var object: [String: JSONValue] = [:]
    let parts = schema["allOf"].elements
    for part in parts {
      let made = value(of: part, depth: depth + 1, &left)
      // A part that only restricts the others, or describes them, has no value of its own.
      if made == .null { continue }
      guard case .object(let members) = made else { return made }
      object.merge(members) { $1 }
    }
    switch typeName(of: schema) {
    case "array":
      let count = if case .integer(let least)? = schema["minItems"] { max(1, min(least, 10)) } else { Int64(1) }
      guard let items = schema["items"] else { return .array([]) }
      return .array((0..<count).map { _ in value(of: items, depth: depth + 1, &left) })
    case "string": return .string(Self.text(schema["format"]))
    case "integer", "number": return schema["minimum"] ?? .integer(0)
    case "boolean": return .bool(true)
    case "null": return .null
    default:
      let properties = schema["properties"].members
      guard !properties.isEmpty || !parts.isEmpty || typeName(of: schema) == "object" else { return .null }
      for (name, property) in properties where !left.isSpent {
        left.bytes -= name.utf8.count
        object[name] = value(of: property, depth: depth + 1, &left)
      }
      return .object(object)
    }
  }

  private func typeName(of schema: JSONValue) -> String? {
    switch schema["type"] {
    case .string(let type): type
    // OpenAPI 3.1 allows several types, such as string and null.
    case .array(let types):
      types.lazy.compactMap { value -> String? in
        if case .string(let type) = value, type != "null" { type } else { nil }
      }.first
    default: nil
    }
  }

  private static func text(_ format: JSONValue?) -> String {
    guard case .string(let format)? = format else { return "string" }
    return switch format {
    case "date": "2026-01-01"
    case "date-time": "2026-01-01T00:00:00Z"
    case "time": "00:00:00Z"
    case "uuid": "00000000-0000-4000-8000-000000000000"
    case "email": "user@example.com"
    case "uri", "url": "https://example.com/"
    case "hostname": "example.com"
    case "ipv4": "192.0.2.1"
    case "ipv6": "2001:db8::1"
    case "byte": "c3RyaW5n"
    default: "string"
    }
  }
}

extension JSONValue {
  /// Returns the value at a step of a JSON pointer (RFC 6901 §4).
  fileprivate func member(_ key: String) -> JSONValue? {
    guard case .array(let elements) = self else { return self[key] }
    return Int(digits: key).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
  }

  subscript(name: String) -> JSONValue? { if case .object(let members) = self { members[name] } else { nil } }
}

extension JSONValue? {
  /// The members of an object, by name; none for other values.
  var members: [(name: String, value: JSONValue)] {
    guard case .object(let members)? = self else { return [] }
    return members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The elements of an array; none for other values.
  var elements: [JSONValue] { if case .array(let elements)? = self { elements } else { [] } }
}
