// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let logging = Step(
    title: "Credentials, and what is never printed",
    explanation: """
      An authenticator puts the token on every request. What errors say about a request is free of it.
      """
  ) { stage in
    let token = stage.server.token
    stage.asked("fetch(.secret(query: \"\(token)\")): the token in the wrong place")
    do {
      _ = try await stage.stack.fetch(.secret(query: token))
      try stage.check("a token in the query is refused", false)
    } catch let error as HTTPFetchError<ForgeError> {
      stage.came("\(error)")
      try stage.check("the status is 401", error.statusCode == .unauthorized)
      try stage.check("the error does not print the token", !error.debugDescription.contains(token))
    }
    stage.asked("fetch(.secret()) through the authenticator")
    let secret = try await stage.stack.fetch(.secret(through: [BearerToken(token: token)]))
    stage.came("\(secret.response.status)")
    try stage.check("the secret came", secret.value.secret == "the cake is real")
  }
}

/// Puts a bearer token on requests (RFC 6750).
struct BearerToken: RequestAuthenticator, HTTPResourceInterceptor {
  let token: String

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Bearer \(token)")
    return request
  }
}
