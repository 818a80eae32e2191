// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro

// sample: endpoint
struct Notes: HTTPResourceEndpoint {
  let token: Secret
  let key: Secret

  let baseURL: URL
  var path: String? { "/notes" }

  func addSecrets(to request: inout ResourceRequest) throws {
    try request.setHeader("Authorization", token, prefix: "Bearer ")
    try request.appendQueryItem("account", key)
  }
}
// end

func login(password: Secret) -> RequestBody {
  // sample: form
  .form(["grant_type": "password", "username": "ann"], secrets: ["password": password])
  // end
}

func notify(hook: Secret) throws -> ResourceRequest {
  // sample: options
  var request = try ResourceRequest(url: "https://chat.example/hooks/\(hook.reveal().pathSegment)/post")
  request.options.secrets.insert(hook)
  // end
  return request
}
