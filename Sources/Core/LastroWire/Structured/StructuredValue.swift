// SPDX-License-Identifier: Apache-2.0

/// A bare item of a structured field (RFC 9651 §3.3).
package enum StructuredValue: Hashable, Sendable {
  case integer(Int64)
  /// A decimal in thousandths. Decimals have at most three fractional digits.
  case decimal(thousandths: Int64)
  case string(String)
  case token(String)
  case bytes([UInt8])
  case boolean(Bool)
  /// A date in seconds since 1970.
  case date(Int64)
  case displayString(String)
}

/// Values by name, in the order of the first occurrence of their names. The last value of each name counts.
package struct StructuredMap<Value: Hashable & Sendable>: Hashable, Sendable {
  package private(set) var names: [String] = []
  private var values: [String: Value] = [:]

  package init() {}

  package subscript(_ name: String) -> Value? { values[name] }

  /// Sets a value. A repeated name keeps its position and gets the new value (RFC 9651 §4.2.2, §4.2.3.2).
  mutating func set(_ name: String, _ value: Value) {
    if values.updateValue(value, forKey: name) == nil { names.append(name) }
  }
}

/// The parameters of an item or a list.
package typealias StructuredParameters = StructuredMap<StructuredValue>
/// The members of a dictionary (RFC 9651 §3.2).
package typealias StructuredDictionary = StructuredMap<StructuredMember>

/// An item or an inner list, with its parameters (RFC 9651 §3.1, §3.3).
package struct StructuredMember: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case item(StructuredValue)
    case list([StructuredMember])
  }

  package var content: Content
  package var parameters: StructuredParameters

  package init(_ content: Content, _ parameters: StructuredParameters = StructuredParameters()) {
    self.content = content
    self.parameters = parameters
  }

  /// The value of an item; `nil` for a list.
  package var value: StructuredValue? { if case .item(let value) = content { value } else { nil } }
}
