// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport

/// A resource that is opened as a stream, once or repeatedly.
struct StreamCall<APIError: Error>: Sendable {
  let resource: HTTPResource<ResponseBody, APIError>
  let configuration: StackConfiguration
  private let stack: any HTTPNetworkStack

  init<Model>(_ resource: HTTPResource<Model, APIError>, by stack: any HTTPNetworkStack) {
    self.stack = stack
    let resource = stack.based(resource)
    self.resource = HTTPResource(
      baseRequestMaking: resource.baseRequestMaking, decoding: .streamed, errorDecoding: resource.errorDecoding,
      interceptors: resource.interceptors, retryActionPriority: resource.retryActionPriority,
      options: resource.options)
    configuration = (stack as? any ConfiguredStack)?.configuration ?? StackConfiguration()
  }

  /// Returns the revisions of the client certificate that a connection with the options presents; see
  /// ``IdentityWatching``.
  func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    (stack as? any IdentityWatching)?.identityRevisions(for: options) ?? []
  }

  /// Opens the stream.
  ///
  /// - Parameters:
  ///   - first: the limit for the body's first element; `nil` for no limit but that of silence.
  ///   - left: the rest of the total timeout; `nil` if the request determines it.
  ///   - facts: receives the request's method and timeouts, even if opening fails.
  ///   - prepare: completes the request.
  func open(
    first: FirstElementLimit?, left: Duration?, facts: Lock<EventRequestFacts?>,
    prepare: @escaping @Sendable (inout ResourceRequest) -> Void
  ) async throws(HTTPFetchError<APIError>) -> OpenStream<APIError> {
    var resource = resource
    let making = resource.baseRequestMaking
    let given = resource.options.timeouts
    let own = resource.options.connection
    let standard = configuration.streamTimeouts
    // The resource's timeouts take precedence over the request's, into which the new limits are written.
    resource.options.timeouts = nil
    resource.baseRequestMaking = BaseRequestMaking {
      var request = try await making.make()
      var timeouts = given ?? request.options.timeouts ?? standard
      facts.withLock { $0 = EventRequestFacts(method: request.head.method, timeouts: timeouts) }
      // An idle timeout that is not positive is left unchanged, because it will be refused.
      if let idle = timeouts.idle, idle > .zero {
        timeouts.idle = max(idle, first?.limit ?? BodyReader.firstSilence)
        if let first, first.limit > idle { request.options.firstElement = first }
      }
      if let left { timeouts.total = left }
      request.options.timeouts = timeouts
      let connection = own ?? request.options.connection
      let revisions = identityRevisions(for: connection)
      facts.withLock { facts in
        facts?.connection = connection
        facts?.identityRevisions = revisions
      }
      prepare(&request)
      return request
    }
    let answer = try await stack.stream(resource)
    let idle = facts.withLock { $0?.timeouts.idle }
    return OpenStream(
      response: answer.response,
      body: BodyReader(answer.value, idle: idle, first: first, time: configuration.timeSource),
      snippetBytes: configuration.bodySnippetBytes)
  }
}

/// The properties of a request on which the handling of its response depends.
struct EventRequestFacts: Sendable {
  var method: HTTPRequest.Method
  /// The timeouts as given.
  var timeouts: Timeouts
  var connection: ConnectionOptions?
  /// The revisions of the client certificate before the connection was opened.
  var identityRevisions: [UInt64] = []
}
