// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport

/// The URLs to which an upload's requests are sent, as the server chooses them, and the origins that get credentials.
struct UploadPlace {
  /// The URL of the resource's request.
  private let base: String
  private let dialect: UploadProtocol
  private let credentialOrigins: Set<Origin>
  /// The URL of the upload, in a lock because an interim response may set it on another thread.
  private let named = Lock<String?>(nil)
  /// The URL to which the server redirected the creation of the upload.
  private var moved: String?
  /// The origins that get credentials.
  private var origins: Set<Origin>

  init(base: ResourceRequest, dialect: UploadProtocol, credentialOrigins: Set<Origin>) {
    self.base = base.url
    self.dialect = dialect
    self.credentialOrigins = credentialOrigins
    origins = credentialOrigins.union(Origin(base.head).map { [$0] } ?? [])
  }

  /// The URL of the upload; `nil` until the server has named it.
  var url: String? {
    get { named.withLock { $0 } }
    nonmutating set { named.withLock { $0 = newValue } }
  }

  /// Returns the resource for the next request.
  ///
  /// - Parameter edit: sets the method, fields and body of the next step, such as an append.
  mutating func asking<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>,
    _ edit: @escaping @Sendable (inout ResourceRequest) throws(TransportError) -> Void
  ) -> HTTPResource<Model, APIError> {
    let isNamed = url != nil
    let target = url ?? moved
    // As after redirects: when another origin chooses the next URL, that URL gets no credentials, wherever it leads.
    if let target, let origin = try? Origin(target), !origins.contains(origin) { origins = credentialOrigins }
    var asking = resource
    let making = resource.baseRequestMaking
    let tell = interimTeller(own: resource.options.onInterimResponse, base: target ?? base)
    asking.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await making.make()
      if let target { try request.go(to: target) }
      if isNamed {
        // These fields belong to the content, and to the request that creates the upload.
        for name in [HTTPField.Name.contentType, .idempotencyKey] { request.head.headerFields[name] = nil }
        request.body = .empty
      }
      request.options.idempotency = .byMethod
      request.options.requiresBody = false
      request.options.onInterimResponse = tell(request.options.onInterimResponse)
      try edit(&request)
      return request
    }
    // The resource's options take precedence over the request's, and must not change what an upload depends on.
    // Redirects are followed by the upload itself, because one that changes the method would lose the content.
    asking.options.redirects = RedirectPolicy.none
    asking.options.idempotency = .byMethod
    asking.options.requiresBody = false
    asking.options.onInterimResponse = nil
    asking.interceptors.append(UploadCredentials(origins: origins))
    return asking
  }

  /// Returns a wrapper for handlers of interim responses: it reads the upload's URL, then calls the caller's handler.
  ///
  /// - Parameter own: the resource's handler, which takes precedence over the request's.
  private func interimTeller(
    own: (@Sendable (HTTPResponse) -> Void)?, base: String
  ) -> @Sendable ((@Sendable (HTTPResponse) -> Void)?) -> @Sendable (HTTPResponse) -> Void {
    let (named, dialect) = (named, dialect)
    return { asked in
      let caller = own ?? asked
      return { head in
        if let location = dialect.location(ofInterim: head), let url = try? RequestTarget.resolved(location, base) {
          named.withLock { $0 = $0 ?? url }
        }
        caller?(head)
      }
    }
  }

  /// Reads a response. The first URL that names the upload is kept.
  func read(_ answer: ResourceResponse) -> UploadAnswer {
    var told = UploadAnswer(answer.head, dialect)
    if let location = told.location {
      // Ignore a Location that cannot be resolved.
      told.location = try? RequestTarget.resolved(location, answer.url)
      named.withLock { $0 = $0 ?? told.location }
    }
    return told
  }

  /// Follows a redirect with status 307 or 308, which keep the method (RFC 9110 §15.4.8, §15.4.9). The new URL is used
  /// for all further requests, or for creating the upload.
  ///
  /// - Parameter isMaking: whether the request was to create the upload.
  /// - Returns: false if the redirect is not followed, for example one that leads from https to http.
  mutating func follow(_ answer: ResourceResponse, isMaking: Bool) -> Bool {
    guard [307, 308].contains(answer.status.code), let location = answer.headerFields[.location],
      let target = try? RequestTarget.resolved(location, answer.url)
    else { return false }
    guard isMaking else {
      url = target
      return true
    }
    // A server that has named the upload and then redirects its creation contradicts itself.
    guard url == nil else { return false }
    moved = target
    return true
  }
}
