// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The key of a store's digests.
package enum DigestKey {
  /// Random bytes for a key: as many as SHA-256 gives.
  package static func bytes(from random: RandomSource) -> [UInt8] {
    (0..<4).flatMap { _ in withUnsafeBytes(of: random.next(), Array.init) }
  }
}
