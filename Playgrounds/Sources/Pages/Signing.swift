// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

// sample: signer
/// HMAC-SHA-256 over time, method, path with query, and the body's hash.
struct HMACSigner: RequestSigner {
  let origins: [Origin]
  let keyName: String
  let key: Secret
  /// Seconds since 1970.
  let now: @Sendable () -> Int

  func sign(
    _ request: ResourceRequest, bodyDigest: BodyDigest, context: AttemptContext
  ) async throws -> ResourceRequest {
    let body =
      switch bodyDigest {
      case .sha256(let digest): digest.hexadecimal
      case .unavailable: "UNSIGNED"
      }
    let time = String(now())
    let text = [time, request.head.method.rawValue, request.head.path ?? "/", body].joined(separator: "\n")
    let signature = try MessageDigest.hmacSHA256(of: Data(text.utf8), key: key)
    var request = request
    try request.setHeader("X-Date", time)
    try request.setHeader("Authorization", "HMAC \(keyName):\(signature.base64)")
    return request
  }
}
// end
