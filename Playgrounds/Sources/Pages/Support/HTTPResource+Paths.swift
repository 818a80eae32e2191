// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension HTTPResource where Model == String, APIError == GitHubError {
  /// Returns the resource at a path of the API, decoded as text.
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
  /// Returns the error of a fetch that is expected to fail. Records a problem and returns `nil` if the fetch succeeds.
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
