// SPDX-License-Identifier: Apache-2.0

/// A question of DNS (RFC 1035 §4.1.2), of class IN.
package struct DNSQuestion: Sendable, Hashable {
  /// Largest response that is asked for over UDP (RFC 6891); over HTTPS without meaning, but sent by all.
  private static let payload: UInt16 = 1_232

  /// Labels with their lengths, and the root; the case of letters as it was given.
  package let name: [UInt8]
  package let type: DNSRecordType

  /// `nil` for what is no name of DNS: an empty label, one over 63 bytes, or over 255 bytes in all.
  package init?(_ host: String, _ type: DNSRecordType) {
    var name: [UInt8] = []
    for label in host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
      guard (1...63).contains(label.count) else { return nil }
      name.append(UInt8(label.count))
      name += label
    }
    name.append(0)
    guard name.count <= DNSReader.mostNameBytes else { return nil }
    self.name = name
    self.type = type
  }

  /// As it stands in messages.
  var bytes: [UInt8] { name + Self.bytes(type.rawValue) + Self.bytes(1) }

  /// The query, with recursion wanted and EDNS.
  ///
  /// - Parameter block: the message is padded to a multiple of it (RFC 8467 §4.1: 128); 0: not padded.
  package func query(id: UInt16, paddedTo block: Int = 0) -> [UInt8] {
    var message = Self.bytes(id) + Self.bytes(0x0100) + Self.bytes(1) + Self.bytes(0) + Self.bytes(0) + Self.bytes(1)
    message += bytes
    // The root, OPT, the payload, and no flags.
    message += [0] + Self.bytes(41) + Self.bytes(Self.payload) + [0, 0, 0, 0]
    guard block > 0 else { return message + [0, 0] }
    let padding = (block - (message.count + 6) % block) % block
    message += Self.bytes(UInt16(padding + 4)) + Self.bytes(12) + Self.bytes(UInt16(padding))
    return message + [UInt8](repeating: 0, count: padding)
  }

  private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}
