// SPDX-License-Identifier: Apache-2.0

/// Header fields that were validated once and are stored as bytes, for reuse in many requests.
///
/// ```swift
/// var common = PreparedFields()
/// try common.add("Host", "api.example.org")
/// try common.add("User-Agent", "shop/1.0")
///
/// // For each request, with a writer that is kept:
/// try writer.begin(method: "GET", target: "/a")
/// try writer.add(common)
/// try writer.end()
/// writer.withBytes { send($0) }
/// ```
package struct PreparedFields: Sendable {
  private(set) var lines = RequestWriter()

  package init() {}

  /// Adds a field.
  ///
  /// - Throws: as ``RequestWriter/add(_:_:)-(String,String)``.
  package mutating func add(_ name: String, _ value: String) throws(RequestViolation) { try lines.add(name, value) }

  /// Adds a field with the given bytes as its value.
  ///
  /// - Throws: as ``RequestWriter/add(_:_:)-(String,String)``.
  package mutating func add(_ name: String, _ value: UnsafeBufferPointer<UInt8>) throws(RequestViolation) {
    try lines.add(name, value)
  }

  var bytes: [UInt8] { lines.withBytes { Array($0) } }
}
