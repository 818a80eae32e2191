// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension BasicAuthenticator: ExplainableInterceptor {
  package var name: String { ".basic" }

  /// The name of the scheme. The user name is not shown.
  package var explanation: String { "sends Basic credentials" }
}

extension APIKeyAuthenticator: ExplainableInterceptor {
  /// The function of a fixed bearer token, or that of an API key.
  package var name: String { placement == .header("Authorization", prefix: "Bearer ") ? ".bearer" : ".apiKey" }

  /// A text that names the place of the key.
  package var explanation: String {
    switch placement {
    case .header("Authorization", prefix: "Bearer "): "sends a bearer token"
    case .header(let name, _): "sends an API key in the field \(name)"
    case .queryItem(let name): "sends an API key in the query item \(name)"
    }
  }

  /// Returns the request with the key, which the explanation masks.
  package func explainedRequest(_ request: ResourceRequest) -> ResourceRequest {
    (try? keyed(request)) ?? request
  }
}

extension BearerAuthenticator: ExplainableInterceptor {
  /// A text about the handling of a 401.
  package var explanation: String { "sends a bearer token; after a 401 refreshes it and repeats the request once" }

  /// Returns a retry for a 401 of one of the origins.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    error.isRefusal(of: request, at: origins) ? .retry : Retry.Action.none
  }
}

extension DigestAuthenticator: ExplainableInterceptor {
  package var name: String { ".digest" }

  /// A text about the handling of a 401.
  package var explanation: String { "answers Digest challenges; repeats the request once after a 401" }

  /// Returns `nil`, for undecided, after a 401 of one of the origins: the action depends on the challenge.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    error.isRefusal(of: request, at: origins) ? nil : Retry.Action.none
  }
}

extension HTTPFetchError {
  /// Returns whether the error is a 401 of one of the origins.
  fileprivate func isRefusal(of request: ResourceRequest, at origins: [Origin]) -> Bool {
    statusCode == .unauthorized && Origin(request.head).map(origins.contains) ?? false
  }
}
