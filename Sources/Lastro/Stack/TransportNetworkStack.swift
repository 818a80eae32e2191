// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The HTTP stack over any ``Transport``: interceptors, redirects, retries, deadlines, decoding.
///
/// A value: copies share the transport. Everything that belongs to the application (request makers, interceptors,
/// decoders) runs on the concurrent pool, or on the executor that the caller's task prefers.
public struct TransportNetworkStack: HTTPNetworkStack {
  /// The transport that carries the requests.
  public let transport: any Transport
  /// What all fetches share.
  public var configuration: StackConfiguration { core.configuration }

  let core: StackCore

  /// Makes a stack. Default `configuration`: `StackConfiguration()`.
  public init(transport: any Transport, configuration: StackConfiguration = StackConfiguration()) {
    self.transport = transport
    core = StackCore(transport: transport, configuration: configuration)
  }

  /// The stack of the call that the current task is a hook of.
  static var calling: Self? { CallingStack.current?.core.map { Self(core: $0) } }

  private init(core: StackCore) {
    transport = core.base
    self.core = core
  }

  /// Fetches a resource and decodes its model; see ``HTTPNetworkStack``.
  ///
  /// Runs on the concurrent pool, or on the executor that the caller's task prefers.
  ///
  /// - Throws: ``HTTPFetchError``, as ``HTTPNetworkStack`` has it.
  @concurrent
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse> {
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
  /// - Throws: ``HTTPFetchError``, as ``HTTPNetworkStack`` has it.
  @concurrent
  public func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
    do throws(HTTPFetchError<any Error>) {
      return try await run(resource.plan(by: core, isStream: true), resource.errorDecoding) { body, _ in body }
    } catch {
      throw HTTPFetchError<APIError>(error.record)
    }
  }

  /// Sends a request, and gives the last answer whatever its status: for callers that judge statuses themselves, such
  /// as other clients' interfaces over this stack.
  ///
  /// Interceptors, signers, redirects, retries, quota and limits in time are those of a fetch, which interceptors see
  /// fail with each status outside 200–299; only when none of them wants another attempt, or a rule forbids it, the
  /// answer is the value. Its body is whole, of whatever status, and no longer than the limit of bodies. Runs on the
  /// concurrent pool, or on the executor that the caller's task prefers.
  ///
  /// ```swift
  /// let answer = try await stack.exchange(try ResourceRequest(url: url))
  /// if answer.response.status == .notFound { return nil }
  /// ```
  ///
  /// - Parameters:
  ///   - request: sent by every attempt.
  ///   - streamed: whether the body is still to be read, as that of a stream is, with the limits of streams;
  ///     interceptors then see no body of a status outside 200–299. Default: the body is in memory.
  /// - Throws: ``HTTPFetchError`` where there is no answer, or none that may be followed; never for a status.
  @concurrent
  public func exchange(
    _ request: ResourceRequest, streamed: Bool = false
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<ResponseBody, ResourceResponse> {
    let resource = RawHTTPResource(request: request)
    return try await run(resource.plan(by: core, isStream: streamed, acceptance: .all), resource.errorDecoding) {
      body, _ in body
    }
  }

  private func run<Value, APIError>(
    _ plan: consuming FetchPlan, _ errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse>,
    finish: (ResponseBody, ResourceResponse) throws -> Value
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<Value, ResourceResponse> {
    var value: Value?
    let core = plan.core
    let response = try await FetchCall(plan).run { body, response in
      value = try core.coding { try finish(body, response) }
    } _: { body, response in
      try core.coding { try errorDecoding.decode(body, response) }
    }
    // There is no success without a value: a call ends well once it is made.
    guard let value else { throw HTTPFetchError(FailureRecord(.cancelled(.cancelled(requestSent: true)))) }
    return Network.Value(value: value, response: response)
  }

  /// Works out what fetching a resource would do: effective URL, interceptors, limits, what follows on each kind of
  /// failure, proxy and trust. Nothing is sent.
  ///
  /// It runs the resource's base request maker, with whatever that does. Of interceptors it asks only those that can
  /// answer without acting (``ExplainableInterceptor``); the others are named.
  ///
  /// - Parameters:
  ///   - resource: what would be fetched.
  ///   - asStream: whether it would be opened as a stream, which has other limits. Default false.
  @concurrent
  public func explain<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, asStream: Bool = false
  ) async -> FetchExplanation {
    await resource.plan(by: core, isStream: asStream).explanation()
  }
}

extension TransportNetworkStack {
  /// Runs a call whose success is 101 (RFC 9110 §15.2.2). Its value is the stream, which speaks another protocol now.
  ///
  /// - Throws: as a fetch.
  package func upgrade<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<(any ByteStream)?, ResourceResponse> {
    var stream: (any ByteStream)?
    let errorDecoding = resource.errorDecoding
    let plan = resource.plan(by: core, isStream: false, acceptance: .upgrade)
    let response = try await FetchCall(plan).run { body, _ in
      stream = body.upgraded
    } _: {
      try errorDecoding.decode($0, $1)
    }
    return Network.Value(value: stream, response: response)
  }
}

/// A stack whose configuration the features above it follow.
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
  /// The resource with what the stack adds to its requests: for what goes on from the request that it makes, to URLs
  /// that are not below the stack's base URL.
  package func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError> {
    (self as? any ConfiguredStack)?.based(resource) ?? resource
  }
}
