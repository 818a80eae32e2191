// SPDX-License-Identifier: Apache-2.0

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
}
