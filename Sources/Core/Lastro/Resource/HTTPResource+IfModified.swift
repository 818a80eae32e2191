// SPDX-License-Identifier: Apache-2.0

extension HTTPResource {
  /// Returns a resource that is fetched only if it has changed since a response. Its model is `nil` if the server
  /// responds that it has not changed (304, RFC 9110 §15.4.5).
  ///
  /// ```swift
  /// let octocat = HTTPResource.user("octocat")
  /// let first = try await stack.fetch(octocat)
  /// if let changed = try await stack.fetch(octocat.ifModified(since: first.response)).value { … }
  /// ```
  ///
  /// The `ETag` and `Last-Modified` of the response become `If-None-Match` and `If-Modified-Since` (RFC 9110 §13.1). If
  /// the response had neither, the request is unconditional.
  public func ifModified(since response: ResourceResponse) -> HTTPResource<Model?, APIError> {
    let (tag, date) = (response.headerFields[.eTag], response.headerFields[.lastModified])
    let decoding = decoding
    return HTTPResource<Model?, APIError>(
      baseRequestMaking: baseRequestMaking.changing { request in
        if let tag { request.head.headerFields[.ifNoneMatch] = tag }
        if let date { request.head.headerFields[.ifModifiedSince] = date }
      },
      decoding: ModelDecoding { payload, response in
        response.status == .notModified ? nil : try decoding.decode(payload, response)
      },
      errorDecoding: errorDecoding, interceptors: interceptors, retryActionPriority: retryActionPriority,
      options: options)
  }
}
