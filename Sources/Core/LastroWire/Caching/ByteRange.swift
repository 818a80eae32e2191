// SPDX-License-Identifier: Apache-2.0

/// The range of bytes that a request asks for (RFC 9110 §14.1.2).
package enum ByteRange: Sendable, Hashable {
  case from(Int64, to: Int64?)
  case last(Int64)

  /// The content of a `Range` field.
  package enum Request: Sendable, Hashable {
    case one(ByteRange)
    /// Several ranges, or a range in a unit other than bytes.
    case other
  }

  /// Parses the field. A malformed field is ignored: `nil`.
  package static func request(_ value: String) -> Request? {
    guard let equals = value.firstIndex(of: "=") else { return nil }
    guard value[..<equals].lowercased() == "bytes" else { return .other }
    let specs = FieldSyntax.elements(String(value[value.index(after: equals)...]))
    guard specs.count == 1 else { return specs.isEmpty ? nil : .other }
    let ends = specs[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    // No body is longer than the number to which others are clamped.
    if ends[0].isEmpty { return Int64(clampingDigits: ends[1].utf8).map { .one(.last($0)) } }
    guard let first = Int64(clampingDigits: ends[0].utf8) else { return nil }
    if ends[1].isEmpty { return .one(.from(first, to: nil)) }
    guard let last = Int64(clampingDigits: ends[1].utf8), last >= first else { return nil }
    return .one(.from(first, to: last))
  }

  /// Returns the range of a body's bytes; `nil` if the body has none of them.
  package func bytes(of length: Int64) -> Range<Int64>? {
    switch self {
    case .from(let first, let last):
      guard first < length else { return nil }
      return first..<(min(last ?? .max, length - 1) + 1)
    case .last(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}
