// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// Removes credentials from requests to origins that may not get them, because the server chooses the URL of the
/// upload. Runs after all other interceptors.
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
      // As after a redirect: a client certificate proves who the sender is, and `Host` names the old server.
      request.options.connection?.tls.identity = nil
      if let host = HTTPField.Name("Host") { request.head.headerFields[host] = nil }
      return request
    }
  }
}
