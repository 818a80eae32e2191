// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A generator of keys for a store's digests.
package enum DigestKey {
  /// Returns random bytes for a key, as many as a SHA-256 digest has.
  package static func bytes(from random: RandomSource) -> [UInt8] {
    (0..<4).flatMap { _ in withUnsafeBytes(of: random.next(), Array.init) }
  }
}
