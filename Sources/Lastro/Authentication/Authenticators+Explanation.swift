// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension BasicAuthenticator: ExplainableInterceptor {
  /// The scheme alone: the user's name is not shown.
  public var explanation: String { "sends Basic credentials" }
}

extension APIKeyAuthenticator: ExplainableInterceptor {
  /// Where the key stands.
  public var explanation: String {
    switch placement {
    case .header("Authorization", prefix: "Bearer "): "sends a bearer token"
    case .header(let name, _): "sends an API key in the field \(name)"
    case .queryItem(let name): "sends an API key in the query item \(name)"
    }
  }

  /// The request with the key, which the explanation masks.
  public func explainedRequest(_ request: ResourceRequest) -> ResourceRequest {
    (try? keyed(request)) ?? request
  }
}

extension BearerAuthenticator: ExplainableInterceptor {
  /// What it does on a 401.
  public var explanation: String { "sends a bearer token; after a 401 refreshes it and repeats the request once" }

  /// A retry after a 401 of one of the origins.
  public func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    error.isRefusal(of: request, at: origins) ? .retry : Retry.Action.none
  }
}

extension DigestAuthenticator: ExplainableInterceptor {
  /// What it does on a 401.
  public var explanation: String { "answers Digest challenges; repeats the request once after a 401" }

  /// Left open for a 401 of one of the origins: it depends on the challenge.
  public func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    error.isRefusal(of: request, at: origins) ? nil : Retry.Action.none
  }
}

extension HTTPFetchError {
  /// Whether it is a 401 of one of the origins.
  fileprivate func isRefusal(of request: ResourceRequest, at origins: [Origin]) -> Bool {
    statusCode == .unauthorized && Origin(request.head).map(origins.contains) ?? false
  }
}
