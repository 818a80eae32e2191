// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// An HTTP stack over any ``Transport``, with interceptors, redirects, retries, deadlines and decoding.
///
/// The stack is a value; copies share the transport. The application's code (request makers, interceptors, decoders)
/// runs on the concurrent pool, or on the executor that the caller's task prefers.
public struct TransportNetworkStack: HTTPNetworkStack {
  /// The transport that carries the requests.
  package let transport: any Transport
  /// The settings that all fetches share.
  package var configuration: StackConfiguration { core.configuration }

  private let first: StackCore

  /// The settings and state for calls that begin now.
  var core: StackCore { first.current }

  /// Makes a stack. Default `configuration`: `StackConfiguration()`.
  public init(transport: any Transport, configuration: StackConfiguration = StackConfiguration()) {
    self.transport = transport
    first = StackCore(transport: transport, configuration: configuration)
  }

  /// The stack of the call whose hook the current task is running; `nil` outside of a hook.
  static var calling: Self? { CallingStack.current?.core.map { Self(core: $0) } }

  private init(core: StackCore) {
    transport = core.base
    first = core
  }

  /// Replaces settings of the stack, and of all its copies, while it is in use.
  ///
  /// Calls that begin afterwards have the new settings; calls under way keep the ones that they began with. Interceptors,
  /// observers, the retry quota, cookies, caches and the parts of a `Resilience` keep their state unless `change`
  /// replaces them. Connections stay open.
  ///
  /// ```swift
  /// try stack.reconfigure {
  ///   $0.timeouts.total = .seconds(5)
  ///   $0.interceptors = [authenticator, .retry(fewRetries)]
  /// }
  /// ```
  ///
  /// It may be called from any thread.
  ///
  /// - Parameter change: edits the present configuration. It may run several times if several threads reconfigure the
  ///   stack at once.
  /// - Throws: `ConfigurationError` for a limit, a timeout, a base URL or a header field that would fail every call. The
  ///   settings then stay as they are.
  public func reconfigure(_ change: (inout StackConfiguration) -> Void) throws(ConfigurationError) {
    try first.reconfigure(change)
  }

  /// Fetches a resource and decodes its model; see ``HTTPNetworkStack``.
  ///
  /// Runs on the concurrent pool, or on the executor that the caller's task prefers.
  ///
  /// - Throws: ``HTTPFetchError``, as documented for ``HTTPNetworkStack``.
  @concurrent
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    let decoding = resource.decoding
    do throws(HTTPFetchError<any Error>) {
      return try await run(resource.plan(by: core, isStream: false), resource.errorDecoding) {
        try decoding.decode($0.bytes ?? Data(), $1)
      }
    } catch {
      throw HTTPFetchError<APIError>(error.record)
    }
  }

  /// Opens a resource as a stream; see ``HTTPNetworkStack``.
  ///
  /// Runs on the concurrent pool, or on the executor that the caller's task prefers.
  ///
  /// - Throws: ``HTTPFetchError``, as documented for ``HTTPNetworkStack``.
  @concurrent
  public func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
    do throws(HTTPFetchError<any Error>) {
      return try await run(resource.plan(by: core, isStream: true), resource.errorDecoding) { body, _ in body }
    } catch {
      throw HTTPFetchError<APIError>(error.record)
    }
  }

  /// Sends a request, and returns the last response regardless of its status. For callers that judge statuses
  /// themselves, such as adapters that offer the interface of another client on this stack.
  ///
  /// Interceptors, signers, redirects, retries, quota and timeouts apply as in a fetch. Interceptors see each status
  /// outside 200–299 as a failure. The response is returned only if none of them wants another attempt, or if a rule
  /// forbids one. Its body is complete, regardless of the status, and its size is limited as that of a fetch. This
  /// function runs on the concurrent pool, or on the executor that the caller's task prefers.
  ///
  /// ```swift
  /// let answer = try await stack.exchange(try ResourceRequest(url: url))
  /// if answer.response.status == .notFound { return nil }
  /// ```
  ///
  /// - Parameters:
  ///   - request: the request that every attempt sends.
  ///   - streamed: whether the body is returned as a stream, with the limits of streams. Interceptors then see no body
  ///     of a status outside 200–299. Default: false; the body is in memory.
  /// - Throws: ``HTTPFetchError`` if there is no response, or a redirect that must not be followed; never for a status.
  @concurrent
  public func exchange(
    _ request: ResourceRequest, streamed: Bool = false
  ) async throws(HTTPFetchError<any Error>) -> Fetched<ResponseBody, ResourceResponse> {
    let resource = RawHTTPResource.raw(request)
    return try await run(resource.plan(by: core, isStream: streamed, acceptance: .all), resource.errorDecoding) {
      body, _ in body
    }
  }

  private func run<Value, APIError>(
    _ plan: consuming FetchPlan, _ errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>,
    finish: (ResponseBody, ResourceResponse) throws -> Value
  ) async throws(HTTPFetchError<any Error>) -> Fetched<Value, ResourceResponse> {
    var value: Value?
    let core = plan.core
    let response = try await FetchCall(plan).run { body, response in
      value = try core.coding { try finish(body, response) }
    } _: { body, response in
      try core.coding { try errorDecoding.decode(body, response) }
    }
    // This cannot happen: a call succeeds only after it has made the value.
    guard let value else { throw HTTPFetchError(FailureRecord(.cancelled(.cancelled(requestSent: true)))) }
    return Fetched(value: value, response: response)
  }

  /// Returns a page of text for people about what fetching a resource would do: effective URL, interceptors, limits,
  /// the consequence of each kind of failure, proxy and trust. It contains no secrets. Nothing is sent.
  ///
  /// It runs the resource's base request maker, including the maker's side effects. It asks only the interceptors
  /// of this package, which answer without side effects; the others are listed by name.
  ///
  /// - Parameters:
  ///   - resource: the resource to explain.
  ///   - asStream: whether to explain opening the resource as a stream, which has other limits. Default false.
  @concurrent
  public func explain<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, asStream: Bool = false
  ) async -> String {
    await explanation(of: resource, asStream: asStream).description
  }

  /// Returns the parts of the text of ``explain(_:asStream:)``.
  @concurrent
  package func explanation<Model, APIError>(
    of resource: HTTPResource<Model, APIError>, asStream: Bool = false
  ) async -> FetchExplanation {
    await resource.plan(by: core, isStream: asStream).explanation()
  }
}

extension TransportNetworkStack {
  /// Runs a call that succeeds with status 101 (RFC 9110 §15.2.2). Its value is the stream, on which another protocol
  /// is spoken from then on.
  ///
  /// - Throws: the errors of a fetch.
  package func upgrade<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<any Error>) -> Fetched<(any ByteStream)?, ResourceResponse> {
    var stream: (any ByteStream)?
    let errorDecoding = resource.errorDecoding
    let plan = resource.plan(by: core, isStream: false, acceptance: .upgrade)
    let response = try await FetchCall(plan).run { body, _ in
      stream = body.upgraded
    } _: {
      try errorDecoding.decode($0, $1)
    }
    return Fetched(value: stream, response: response)
  }
}

/// A stack whose configuration is used by features above it.
package protocol ConfiguredStack {
  var configuration: StackConfiguration { get }
  func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError>
}

extension TransportNetworkStack: ConfiguredStack {
  package func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError> {
    let (core, making) = (core, resource.baseRequestMaking)
    var based = resource
    based.baseRequestMaking = BaseRequestMaking { () async throws in
      var request = try await core.coding { try await making.make() }
      try core.complete(&request, by: making)
      return request
    }
    return based
  }
}

extension HTTPNetworkStack {
  /// Returns the resource with the stack's additions to its requests. For features that continue from the resource's
  /// request to URLs that may lie outside the stack's base URL.
  package func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError> {
    (self as? any ConfiguredStack)?.based(resource) ?? resource
  }
}
