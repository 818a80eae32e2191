// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension HTTPResource {
  /// The resource as a download asks for it.
  func asking(
    for range: String?, if validator: String?, retries: HTTPRetryPolicy, wantsDigest: Bool = true
  ) -> HTTPResource {
    var resource = self
    let making = baseRequestMaking
    resource.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await making.make()
      try request.checkDownload()
      // A part of coded bytes is a range of nothing (RFC 9110 §14.1.2 has ranges of the coded representation).
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
  /// - Throws: a refusal of a request that asks for something else than the whole of one representation.
  func checkDownload() throws(TransportError) {
    guard head.method == .get else {
      throw .refused(
        .invalidMethod, "a download asks by GET, not by \(head.method)",
        hint: "stream the answer, and write it yourself")
    }
    for name in [HTTPField.Name.range, .ifRange, .ifMatch, .ifUnmodifiedSince] where head.headerFields[name] != nil {
      throw .refused(
        .invalidHeader, "a download sets \(name) itself", hint: "remove the field: a download is of the whole")
    }
  }
}
