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
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    let body = bodyDigest?.hexadecimal ?? "UNSIGNED"
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

private func configuration(signedBy signer: some RequestSigner) -> StackConfiguration {
  // sample: configuration
  var configuration = StackConfiguration()
  configuration.signers = [signer]
  // end
  return configuration
}

extension Page {
  static let signing = Page("Signing") { stage in
    let origins = [try Origin("https://api.github.com")]
    let signer = HMACSigner(origins: origins, keyName: "demo", key: Secret("a key"), now: { 1_700_000_000 })
    let github = try stage.github(configuration(signedBy: signer))
    let request = try ResourceRequest(
      method: .post, url: "https://api.github.com/signed", body: .raw(Data("hello".utf8)))
    _ = try? await github.fetch(.raw(request))
    let text = [
      "1700000000", "POST", "/signed", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ].joined(separator: "\n")
    let expected = try MessageDigest.hmacSHA256(of: Data(text.utf8), key: Secret("a key")).base64
    let sent = stage.server.requests.last
    say(sent?.headers["Authorization"] ?? "no signature")
    stage.check("what the server got is signed", sent?.headers["Authorization"] == "HMAC demo:\(expected)")
  }
}
