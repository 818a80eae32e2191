// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension HTTPResource where Model == String, APIError == GitHubError {
  /// What stands at a path of the API, as text.
  static func text(
    _ method: HTTPRequest.Method = .get, at path: String, body: RequestBody = .empty,
    through interceptors: [any HTTPResourceInterceptor] = [], options: RequestOptions = RequestOptions()
  ) -> Self {
    .init(
      baseRequestMaking: BaseRequestMaking {
        try ResourceRequest(method: method, url: "https://api.github.com" + path, body: body)
      }, decoding: .text, errorDecoding: .json(), interceptors: interceptors, options: options)
  }
}

extension Stage {
  /// The failure of a fetch. That it succeeds is a problem.
  func failure<Model, APIError>(
    of resource: HTTPResource<Model, APIError>, from github: any HTTPNetworkStack
  ) async -> HTTPFetchError<APIError>? {
    do {
      let value = try await github.fetch(resource)
      check("\(value.response.url) fails", false)
      return nil
    } catch {
      return error
    }
  }
}
