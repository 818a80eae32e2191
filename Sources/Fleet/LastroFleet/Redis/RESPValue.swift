// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A reply of a server that speaks RESP2, the protocol of Redis and Valkey.
indirect enum RESPValue: Sendable, Hashable {
  /// A status such as `OK`.
  case simple(String)
  /// An error, whose first word is its kind, such as `NOSCRIPT`.
  case error(String)
  case integer(Int64)
  case bulk([UInt8])
  case array([RESPValue])
  /// The null bulk string or the null array.
  case null

  /// The number in a bulk string; `nil` for any other value.
  var number: Int64? {
    if case .bulk(let bytes) = self { Int64(digits: String(decoding: bytes, as: UTF8.self)) } else { nil }
  }

  /// Returns the text behind a name in an array of names and values; `nil` if there is none.
  func text(of name: String) -> String? {
    guard case .array(let parts) = self, let place = parts.firstIndex(of: .bulk(Array(name.utf8))),
      parts.indices.contains(place + 1), case .bulk(let bytes) = parts[place + 1]
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
