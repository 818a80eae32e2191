// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// Parser and writer for `Repr-Digest` and `Content-Digest` (RFC 9530 §2, §3).
enum DigestField {
  /// Returns the digests by secure algorithms, strongest first. Other algorithms, such as `md5` and `sha`, are insecure
  /// (RFC 9530 §6.3) and are ignored, as is a field with invalid syntax.
  static func digests(_ field: String) -> [Digest] {
    guard let dictionary = StructuredReader.dictionary(field.utf8) else { return [] }
    return [("sha-512", HashAlgorithm.sha512, 64), ("sha-256", .sha256, 32)].compactMap { name, algorithm, length in
      guard case .bytes(let bytes) = dictionary[name]?.value, bytes.count == length else { return nil }
      return Digest(algorithm: algorithm, value: MessageDigest(bytes))
    }
  }

  /// Returns a field value with one digest.
  static func field(_ digest: Digest) -> String {
    "\(digest.algorithm == .sha512 ? "sha-512" : "sha-256")=:\(digest.value.base64):"
  }
}

/// A digest with its algorithm.
struct Digest: Hashable {
  var algorithm: HashAlgorithm
  var value: MessageDigest
}

extension Digest {
  /// Parses a digest in hexadecimal digits of either case.
  ///
  /// - Throws: a refusal of other text, and of another number of digits.
  init(_ algorithm: HashAlgorithm, hexadecimal text: String) throws(TransportError) {
    let count = algorithm == .sha512 ? 128 : 64
    let digits = text.utf8.compactMap(\.hexadecimalValue)
    guard digits.count == count, text.utf8.count == count else {
      throw .refused(
        .invalidOption, "\"\(text.prefix(20).escapedForDisplay)\" is not a \(algorithm) digest",
        hint: "give its \(count) hexadecimal digits")
    }
    let bytes = stride(from: 0, to: count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    self.init(algorithm: algorithm, value: MessageDigest(bytes))
  }
}
