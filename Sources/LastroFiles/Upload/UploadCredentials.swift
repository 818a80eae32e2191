// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// Takes credentials back from requests to other origins than that of the first request: it is the server that says
/// where the upload is. It comes after all other interceptors.
struct UploadCredentials: HTTPResourceInterceptor {
  let origins: Set<Origin>

  var hooksWait: Bool { false }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    result.map { request in
      guard !(Origin(request.head).map(origins.contains) ?? false) else { return request }
      var request = request
      for name in request.fieldsBoundToOrigin { request.head.headerFields[name] = nil }
      // As behind a redirect: a certificate proves who asks, and the old server's name is not the other's.
      request.options.connection?.tls.identity = nil
      if let host = HTTPField.Name("Host") { request.head.headerFields[host] = nil }
      return request
    }
  }
}
