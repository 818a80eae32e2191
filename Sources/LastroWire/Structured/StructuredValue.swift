// SPDX-License-Identifier: Apache-2.0

/// A bare item of a structured field (RFC 9651 §3.3).
package enum StructuredValue: Hashable, Sendable {
  case integer(Int64)
  /// In thousandths: a decimal has three digits behind its point at most.
  case decimal(thousandths: Int64)
  case string(String)
  case token(String)
  case bytes([UInt8])
  case boolean(Bool)
  /// Seconds since 1970.
  case date(Int64)
  case displayString(String)
}

/// Names with values, in the order in which the names came first; the last value of each counts.
package struct StructuredParameters: Hashable, Sendable {
  package private(set) var names: [String] = []
  private var values: [String: StructuredValue] = [:]

  package init() {}

  package subscript(_ name: String) -> StructuredValue? { values[name] }

  /// RFC 9651 §4.2.3.2: a name that comes again takes its new value, and keeps its place.
  mutating func set(_ name: String, _ value: StructuredValue) {
    if values.updateValue(value, forKey: name) == nil { names.append(name) }
  }
}

/// An item, or a list within a list, with its parameters (RFC 9651 §3.1, §3.3).
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

/// Members by name, in the order in which the names came first (RFC 9651 §3.2).
package struct StructuredDictionary: Hashable, Sendable {
  package private(set) var names: [String] = []
  private var members: [String: StructuredMember] = [:]

  package init() {}

  package subscript(_ name: String) -> StructuredMember? { members[name] }

  mutating func set(_ name: String, _ member: StructuredMember) {
    if members.updateValue(member, forKey: name) == nil { names.append(name) }
  }
}
