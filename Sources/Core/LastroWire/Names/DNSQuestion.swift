// SPDX-License-Identifier: Apache-2.0

/// A DNS question (RFC 1035 §4.1.2) of class IN.
package struct DNSQuestion: Sendable, Hashable {
  /// The maximum size of a response over UDP (RFC 6891). It has no meaning over HTTPS, where all clients send it
  /// nevertheless.
  private static let payload: UInt16 = 1_232

  /// The encoded name: labels with their lengths, and the root. Letters keep their case.
  package let name: [UInt8]
  package let type: DNSRecordType

  /// Creates a question; `nil` if the host is not a DNS name: it has an empty label, a label over 63 bytes, or more
  /// than 255 bytes.
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

  /// The encoded question.
  var bytes: [UInt8] { name + Self.bytes(type.rawValue) + Self.bytes(1) }

  /// Returns a query with recursion desired and EDNS.
  ///
  /// - Parameter block: the message is padded to a multiple of this size (RFC 8467 §4.1: 128). Default 0: no padding.
  package func query(id: UInt16, paddedTo block: Int = 0) -> [UInt8] {
    var message = Self.bytes(id) + Self.bytes(0x0100) + Self.bytes(1) + Self.bytes(0) + Self.bytes(0) + Self.bytes(1)
    message += bytes
    // The root, OPT, the payload size, and no flags.
    message += [0] + Self.bytes(41) + Self.bytes(Self.payload) + [0, 0, 0, 0]
    guard block > 0 else { return message + [0, 0] }
    let padding = (block - (message.count + 6) % block) % block
    message += Self.bytes(UInt16(padding + 4)) + Self.bytes(12) + Self.bytes(UInt16(padding))
    return message + [UInt8](repeating: 0, count: padding)
  }

  private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}
