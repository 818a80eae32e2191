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
          .invalidOption, "the name of an application protocol has \(name.utf8.count) bytes, out of range (1…255)",
          hint: "give a registered name, such as http/1.1; RFC 7301 §3.1")
      }
      bytes.append(UInt8(name.utf8.count))
      bytes += name.utf8
    }
    guard bytes.count <= maximumBytes else {
      throw .refused(
        .invalidOption, "the application protocols take \(bytes.count) bytes, above the maximum of \(maximumBytes)",
        hint: "offer fewer: each takes its name and one byte; RFC 8446 §4.2")
    }
    return bytes
  }
}
