// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The HTTP stack over any ``Transport``: interceptors, redirects, retries, deadlines, decoding.
///
/// A value: copies share the transport. Everything that belongs to the application (request makers, interceptors,
/// decoders) runs on the concurrent pool.
public struct TransportNetworkStack: HTTPNetworkStack {
  /// The transport that carries the requests.
  public let transport: any Transport
  /// What all fetches share.
  public var configuration: StackConfiguration { sharedConfiguration.value }

  let sharedConfiguration: CopyOnWrite<StackConfiguration>
  let interceptors: InterceptorChain

  /// Makes a stack.
  public init(transport: any Transport, configuration: StackConfiguration = StackConfiguration()) {
    self.transport = transport
    sharedConfiguration = CopyOnWrite(configuration)
    interceptors = InterceptorChain(configuration.interceptors)
  }

  /// Fetches a resource and decodes its model; see ``HTTPNetworkStack``.
  ///
  /// Runs on the concurrent pool, wherever it is called from.
  ///
  /// - Throws: ``HTTPFetchError``, as ``HTTPNetworkStack`` has it.
  @concurrent
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse> {
    let decoding = resource.decoding
    return try await run(resource, isStream: false) { try decoding.decode($0.bytes ?? Data(), $1) }
  }

  /// Opens a resource as a stream; see ``HTTPNetworkStack``.
  ///
  /// Runs on the concurrent pool, wherever it is called from.
  ///
  /// - Throws: ``HTTPFetchError``, as ``HTTPNetworkStack`` has it.
  @concurrent
  public func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
    try await run(resource, isStream: true) { body, _ in body }
  }

  /// What goes into the plan's ``FetchedValue`` and what is taken out of it have one type: both are `Value` here.
  private func run<Model, APIError, Value: Sendable>(
    _ resource: HTTPResource<Model, APIError>, isStream: Bool,
    finish: @escaping @Sendable (ResponseBody, ResourceResponse) throws -> Value
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Value, ResourceResponse> {
    let plan = FetchPlan(
      resource, transport: transport, configuration: sharedConfiguration, interceptors: interceptors, isStream: isStream
    ) { FetchedValue.Of(try finish($0, $1)) }
    do throws(HTTPFetchError<any Error>) {
      let fetched = try await FetchCall(plan).run()
      return Network.Value(value: fetched.value.open(as: Value.self), response: fetched.response)
    } catch {
      throw HTTPFetchError<APIError>(error.record)
    }
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
    await FetchPlan(
      resource, transport: transport, configuration: sharedConfiguration, interceptors: interceptors, isStream: asStream
    ) { body, _ in FetchedValue.Of(body) }
    .explanation()
  }
}
