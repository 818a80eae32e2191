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

extension ExpectedDigest {
  /// The digest; `nil` for invalid hexadecimal text, which `check()` has refused before.
  var digest: Digest? { bytes.map { Digest(algorithm: algorithm, value: MessageDigest($0)) } }
}
