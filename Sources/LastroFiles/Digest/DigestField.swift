// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// `Repr-Digest` and `Content-Digest` (RFC 9530 §2, §3), as far as they prove something.
enum DigestField {
  /// The digests by algorithms that count, the strongest first. Others, such as `md5` and `sha`, are insecure (RFC 9530
  /// §6.3), and prove nothing; a field that breaks its grammar says nothing.
  static func digests(_ field: String) -> [Digest] {
    guard let dictionary = StructuredReader.dictionary(field.utf8) else { return [] }
    return [("sha-512", HashAlgorithm.sha512, 64), ("sha-256", .sha256, 32)].compactMap { name, algorithm, length in
      guard case .bytes(let bytes) = dictionary[name]?.value, bytes.count == length else { return nil }
      return Digest(algorithm: algorithm, value: MessageDigest(bytes))
    }
  }

  /// A field with one digest.
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
  /// Checked before.
  var digest: Digest? { bytes.map { Digest(algorithm: algorithm, value: MessageDigest($0)) } }
}
