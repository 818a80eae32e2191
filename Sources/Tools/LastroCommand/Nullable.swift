// SPDX-License-Identifier: Apache-2.0

/// A value that is encoded as `null` if it is absent, so that every object has the same keys.
@propertyWrapper struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
  var wrappedValue: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}
