// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Application protocols as they are offered in a handshake (ALPN, RFC 7301 §3.1).
enum ALPNOffer {
  /// The extension's data have 65,535 bytes at most (RFC 8446 §4.2), of which the length of the list takes two.
  static let maximumBytes = 65_533

  /// The list as OpenSSL takes it: each name after a byte with its length. Empty for none.
  static func wireForm(_ names: [String]) throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    for name in names {
      guard (1...255).contains(name.utf8.count) else {
        throw .refused(
          .invalidOption, "an application protocol's name has \(name.utf8.count) bytes",
          hint: "a name has 1 to 255 bytes (RFC 7301 §3.1)")
      }
      bytes.append(UInt8(name.utf8.count))
      bytes += name.utf8
    }
    guard bytes.count <= maximumBytes else {
      throw .refused(
        .invalidOption, "the application protocols take \(bytes.count) bytes",
        hint: "all of them, with a byte before each, take \(maximumBytes) at most (RFC 8446 §4.2)")
    }
    return bytes
  }
}
