// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport

/// Where the requests of an upload go to, as the server says, and what goes along with them.
struct UploadPlace {
  /// URL of the resource's request.
  private let base: String
  private let dialect: UploadProtocol
  private let credentialOrigins: Set<Origin>
  /// Where the upload is: an interim answer may say so on another thread.
  private let named = Lock<String?>(nil)
  /// Where the upload is to be made, where the server sent it elsewhere than the resource says.
  private var moved: String?
  /// Those that get credentials.
  private var origins: Set<Origin>

  init(base: ResourceRequest, dialect: UploadProtocol, credentialOrigins: Set<Origin>) {
    self.base = base.url
    self.dialect = dialect
    self.credentialOrigins = credentialOrigins
    origins = credentialOrigins.union(Origin(base.head).map { [$0] } ?? [])
  }

  /// Where the upload is; `nil` before the server has said so.
  var url: String? {
    get { named.withLock { $0 } }
    nonmutating set { named.withLock { $0 = newValue } }
  }

  /// The resource as its next request is sent.
  ///
  /// - Parameter edit: makes the request that of a step.
  mutating func asking<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>,
    _ edit: @escaping @Sendable (inout ResourceRequest) throws(TransportError) -> Void
  ) -> HTTPResource<Model, APIError> {
    let isNamed = url != nil
    let target = url ?? moved
    // As behind redirects: what another origin says of where to go next gets no credentials, wherever that leads.
    if let target, let origin = try? Origin(target), !origins.contains(origin) { origins = credentialOrigins }
    var asking = resource
    let making = resource.baseRequestMaking
    let tell = interimTeller(own: resource.options.onInterimResponse, base: target ?? base)
    asking.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await making.make()
      if let target { try request.go(to: target) }
      if isNamed {
        // These were of the content, and of the request that makes the upload.
        for name in [HTTPField.Name.contentType, .idempotencyKey] { request.head.headerFields[name] = nil }
        request.body = .empty
      }
      request.options.idempotency = .byMethod
      request.options.requiresBody = false
      request.options.onInterimResponse = tell(request.options.onInterimResponse)
      try edit(&request)
      return request
    }
    // The resource's options go before those of the request, and must not undo what an upload rests on. A redirect that
    // changes the method would lose the content: the others are followed here.
    asking.options.redirects = RedirectPolicy.none
    asking.options.idempotency = .byMethod
    asking.options.requiresBody = false
    asking.options.onInterimResponse = nil
    asking.interceptors.append(UploadCredentials(origins: origins))
    return asking
  }

  /// Makes what is told of interim answers: it reads where the upload is, and then tells the caller's.
  ///
  /// - Parameter own: that of the resource, which goes before that of the request.
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

  /// What an answer says. The first that names the upload is believed.
  func read(_ answer: ResourceResponse) -> UploadAnswer {
    var told = UploadAnswer(answer.head, dialect)
    if let location = told.location {
      // One that cannot be gone to names nothing.
      told.location = try? RequestTarget.resolved(location, answer.url)
      named.withLock { $0 = $0 ?? told.location }
    }
    return told
  }

  /// 307 and 308 keep the method (RFC 9110 §15.4.8, §15.4.9): the upload, or the place where it is made, is elsewhere
  /// from here on.
  ///
  /// - Parameter isMaking: whether the request was to make the upload.
  /// - Returns: false for what is not followed, such as a location that leads from https to http.
  mutating func follow(_ answer: ResourceResponse, isMaking: Bool) -> Bool {
    guard [307, 308].contains(answer.status.code), let location = answer.headerFields[.location],
      let target = try? RequestTarget.resolved(location, answer.url)
    else { return false }
    guard isMaking else {
      url = target
      return true
    }
    // A server that has named the upload, and then sends its making elsewhere, contradicts itself.
    guard url == nil else { return false }
    moved = target
    return true
  }
}
