// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The application protocols in the form in which a handshake offers them (ALPN, RFC 7301 §3.1).
enum ALPNOffer {
  /// The maximum length of the list. The extension has at most 65,535 bytes (RFC 8446 §4.2), two of which are the
  /// length of the list.
  static let maximumBytes = 65_533

  /// Returns the list in OpenSSL's format: each name follows a byte with its length. Empty if there are no names.
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
