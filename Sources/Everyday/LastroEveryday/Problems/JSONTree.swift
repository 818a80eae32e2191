// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A JSON value of any shape. Numbers keep up to 38 digits. What is nested in more than 32 arrays and objects is `null`,
/// and so is a number that no type holds.
enum JSONTree: Hashable, Sendable, Codable {
  /// A decoder describes the path to a value each time that the value is not of the requested type, so the work grows
  /// with the depth.
  private static let maximumDepth = 32

  case null
  case boolean(Bool)
  case number(Decimal)
  case large(Double)
  case text(String)
  case array([JSONTree])
  case object([String: JSONTree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() || decoder.codingPath.count > Self.maximumDepth {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode(Decimal.self) {
      self = .number(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode([String: JSONTree].self) {
      self = .object(value)
    } else if let value = try? container.decode([JSONTree].self) {
      self = .array(value)
    } else {
      self = (try? container.decode(Double.self)).map { .large($0) } ?? .null
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .large(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  var string: String? { if case .text(let value) = self { value } else { nil } }
  /// A number without a fraction; `nil` for any other value.
  var integer: Int? { if case .number(let value) = self { Int("\(value)") } else { nil } }
  var elements: [JSONTree]? { if case .array(let value) = self { value } else { nil } }
  var members: [String: JSONTree]? { if case .object(let value) = self { value } else { nil } }
}
