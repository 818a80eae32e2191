// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension BasicAuthenticator: ExplainableInterceptor {
  /// The scheme; who the user is stands nowhere.
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

  /// With the key.
  public func explainedRequest(_ request: ResourceRequest) -> ResourceRequest {
    (try? keyed(request)) ?? request
  }
}

extension BearerAuthenticator: ExplainableInterceptor {
  /// What it does on a 401.
  public var explanation: String { "sends a bearer token; after a 401 refreshes it and repeats the request once" }

  /// A retry after a 401 of one of the origins.
  public func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? {
    guard error.statusCode == .unauthorized, let origin = Origin(request.head), origins.contains(origin) else {
      return Retry.Action.none
    }
    return .retry
  }
}

extension DigestAuthenticator: ExplainableInterceptor {
  /// What it does on a 401.
  public var explanation: String { "answers Digest challenges; repeats the request once after a 401" }

  /// Left open for a 401 of one of the origins: it depends on the challenge.
  public func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? {
    guard error.statusCode == .unauthorized, let origin = Origin(request.head), origins.contains(origin) else {
      return Retry.Action.none
    }
    return nil
  }
}
