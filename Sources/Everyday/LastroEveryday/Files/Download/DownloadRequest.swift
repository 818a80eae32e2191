// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension HTTPResource {
  /// Returns the resource with the request of a download.
  func asking(
    for range: String?, if validator: String?, retries: HTTPRetryPolicy, wantsDigest: Bool = true
  ) -> HTTPResource {
    var resource = self
    let making = baseRequestMaking
    resource.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await making.make()
      try request.checkDownload()
      // Ranges refer to the coded representation (RFC 9110 §14.1.2), so a coded part could not be combined with other
      // bytes.
      try request.setHeader("Accept-Encoding", "identity")
      if wantsDigest, request.head.headerFields[.wantReprDigest] == nil {
        try request.setHeader("Want-Repr-Digest", "sha-256=10, sha-512=5")
      }
      if let range { try request.setHeader("Range", range) }
      if let validator { try request.setHeader("If-Range", validator) }
      return request
    }
    resource.interceptors.append(RetryInterceptor(policy: retries))
    return resource
  }
}

extension ResourceRequest {
  /// - Throws: a refusal if the request does not ask for a whole representation.
  func checkDownload() throws(TransportError) {
    guard head.method == .get else {
      throw .refused(
        .invalidMethod, "a download uses GET, not \(head.method)",
        hint: "stream the response, and write it yourself")
    }
    for name in [HTTPField.Name.range, .ifRange, .ifMatch, .ifUnmodifiedSince] where head.headerFields[name] != nil {
      throw .refused(
        .invalidHeader, "a download sets \(name) itself", hint: "remove the field: a download fetches the whole file")
    }
  }
}
