// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// Reads the keys in a file: PEM blocks of certificates, certificate requests and public keys, or a certificate in DER.
enum KeyFile {
  /// The maximum size of a file, far more than any bundle of roots.
  private static let maximumBytes = 64 * 1024 * 1024

  /// - Throws: `ConfigurationError` that names the file.
  static func keys(_ path: String) throws -> [PinnableKey] {
    guard let data = try? Data(contentsOf: URL(filePath: path)), data.count <= maximumBytes else {
      throw ConfigurationError(
        "\(path.onOneLine) cannot be read", hint: "check the path, and that this process may read it")
    }
    var keys = try read(data, path.onOneLine)
    for index in keys.indices { keys[index].file = path }
    return keys
  }

  private static func read(_ data: Data, _ path: String) throws -> [PinnableKey] {
    let blocks = PEMBlock.blocks(in: String(decoding: data, as: UTF8.self))
    if blocks.isEmpty {
      if let certificate = PeerCertificate(der: [UInt8](data)) { return [PinnableKey(certificate)] }
      throw ConfigurationError(
        "\(path) holds no certificate, certificate request or public key",
        hint: "give a PEM file, or a certificate in DER")
    }
    var keys: [PinnableKey] = []
    for (index, block) in blocks.enumerated() {
      let place = "\(path): block \(index + 1), \(block.label.onOneLine),"
      switch block.label {
      case "CERTIFICATE":
        guard let certificate = try? PeerCertificate.certificates(pem: block.text).first else {
          throw ConfigurationError("\(place) cannot be read", hint: "check that it is complete")
        }
        keys.append(PinnableKey(certificate))
      case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "PUBLIC KEY":
        guard let pin = try? SPKIHash(pem: block.text) else {
          throw ConfigurationError("\(place) cannot be read", hint: "check that it is complete")
        }
        keys.append(PinnableKey(pin, source: block.label == "PUBLIC KEY" ? .publicKey : .request))
      default: continue
      }
    }
    guard keys.isEmpty else { return keys }
    let label = blocks[0].label.onOneLine
    throw ConfigurationError(
      "\(path) holds no certificate, certificate request or public key, but a block \"\(label)\"",
      hint: label.hasSuffix("PRIVATE KEY")
        ? "give its public key: openssl pkey -in FILE -pubout"
        : "its blocks must be CERTIFICATE, CERTIFICATE REQUEST or PUBLIC KEY")
  }
}

/// A block of RFC 7468, not decoded.
private struct PEMBlock {
  var label: String
  var text: String

  static func blocks(in text: String) -> [PEMBlock] {
    var result: [PEMBlock] = []
    var lines: [Substring] = []
    var label: Substring?
    for line in text.split(whereSeparator: \.isNewline) {
      if let begun = label {
        lines.append(line)
        guard line.hasPrefix("-----END ") else { continue }
        result.append(PEMBlock(label: String(begun), text: lines.joined(separator: "\n") + "\n"))
        label = nil
      } else if line.hasPrefix("-----BEGIN "), let end = line.dropFirst(11).firstRange(of: "-----") {
        label = line.dropFirst(11)[..<end.lowerBound]
        lines = [line]
      }
    }
    // A block without an end is kept, so that it is reported instead of ignored.
    if let label { result.append(PEMBlock(label: String(label), text: lines.joined(separator: "\n") + "\n")) }
    return result
  }
}
