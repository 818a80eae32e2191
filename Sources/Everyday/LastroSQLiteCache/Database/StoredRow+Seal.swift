// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday

extension StoredRow {
  /// Returns a keyed digest of these values, which only a holder of the key can compute.
  static func seal(
    _ key: [UInt8], _ place: CacheKey, selecting: [UInt8], length: Int64, digest: [UInt8], head: [UInt8]
  ) -> [UInt8]? {
    var message: [UInt8] = []
    for part in [place.url, place.partition, selecting, digest, head] {
      withUnsafeBytes(of: Int64(part.count).littleEndian) { message += $0 }
      message += part
    }
    withUnsafeBytes(of: length.littleEndian) { message += $0 }
    return try? MessageDigest.hmacSHA256(of: message, key: key).bytes
  }
}
