// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The network stack on libcurl: make one for a program, and share it.
///
/// ```swift
/// let github = try CurlNetworkStack()
/// let repository = try await github.fetch(.repository("apple", "swift")).value
/// ```
///
/// Stacks with other interceptors, and dialers for all that is not HTTP, share its engine: its threads, connections,
/// limits and pins.
///
/// ```swift
/// let tokens = CurlNetworkStack(sharing: github)
/// let socket = try await WebSocketClient(dialer: github.dialer).connect("wss://example.com/feed")
/// ```
///
/// It may be used from any task or thread. Nothing has to be shut down: a dropped stack ends by itself when the fetches
/// and bodies in flight have ended. `LastroLifecycle` makes it a `Service` of swift-service-lifecycle.
public struct CurlNetworkStack: HTTPNetworkStack {
  /// What carries the requests: threads, connections, limits, pins. May be shared.
  public let engine: CurlTransport
  private let stack: TransportNetworkStack

  /// Starts the engine.
  ///
  /// - Parameters:
  ///   - engine: threads, connections, limits. Default `CurlConfiguration()`.
  ///   - configuration: interceptors, time limits, redirects. Default `StackConfiguration()`.
  /// - Throws: `ConfigurationError` for a value that cannot work, the base URL among them, or when threads or
  ///   descriptors ran out.
  public init(
    _ engine: CurlConfiguration = CurlConfiguration(), configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) {
    try configuration.checkBaseURL()
    self.init(sharing: try CurlTransport(engine), configuration: configuration)
  }

  /// Makes another stack on the engine of one; see ``init(sharing:configuration:)-(CurlTransport,_)``, which has
  /// the same default.
  public init(sharing other: CurlNetworkStack, configuration: StackConfiguration = StackConfiguration()) {
    self.init(sharing: other.engine, configuration: configuration)
  }

  /// Makes a stack on an engine that runs.
  ///
  /// Nothing but the engine is shared: interceptors, quota and observers are those of `configuration`. Shutting any of
  /// the stacks down shuts the engine down, for all of them.
  ///
  /// - Parameters:
  ///   - engine: carries the requests.
  ///   - configuration: interceptors, time limits, redirects. Default `StackConfiguration()`.
  public init(sharing engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()) {
    self.engine = engine
    stack = TransportNetworkStack(transport: engine, configuration: configuration)
  }

  /// Opens byte streams on the stack's engine, under its limits and pins: for WebSocket, Gemini, and protocols of your
  /// own.
  public var dialer: CurlDialer { CurlDialer(transport: engine) }

  /// Runs tasks that do little but fetch on a thread of the engine; see ``CurlTransport/executor`` for what must not be
  /// done there.
  public var executor: any TaskExecutor { engine.executor }

  /// Transfers begun and not yet ended, those that wait for a connection included.
  public var activeTransfers: Int { engine.activeTransfers }

  /// Fetches the bytes of a resource.
  ///
  /// - Throws: `HTTPFetchError`; always the cancelled error when the task is cancelled.
  public func fetch(
    _ resource: RawHTTPResource
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<Data, ResourceResponse> {
    try await stack.fetch(resource)
  }

  /// Fetches a resource and decodes its model.
  ///
  /// - Throws: `HTTPFetchError` with the API's own error, where it sent one; always the cancelled error when the task
  ///   is cancelled.
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse> {
    try await stack.fetch(resource)
  }

  /// Opens a resource as a stream: returns when the head of a 2xx answer is there.
  ///
  /// - Throws: as the typed `fetch`; failures of the body are thrown by `ResponseBody`.
  public func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
    try await stack.stream(resource)
  }

  /// Sends a request, and gives the last answer whatever its status; see `TransportNetworkStack.exchange`.
  ///
  /// - Parameters:
  ///   - request: sent by every attempt.
  ///   - streamed: whether the body is still to be read. Default: it is in memory.
  /// - Throws: `HTTPFetchError` where there is no answer; never for a status.
  public func exchange(
    _ request: ResourceRequest, streamed: Bool = false
  ) async throws(HTTPFetchError<any Error>) -> Network.Value<ResponseBody, ResourceResponse> {
    try await stack.exchange(request, streamed: streamed)
  }

  /// Works out what fetching a resource would do, without network; see `TransportNetworkStack.explain`.
  ///
  /// - Parameters:
  ///   - resource: what would be fetched.
  ///   - asStream: whether it would be opened as a stream, which has other limits. Default false.
  public func explain<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, asStream: Bool = false
  ) async -> FetchExplanation {
    await stack.explain(resource, asStream: asStream)
  }

  /// Connects to a server as a fetch would, checks its chain and host name, and tells what it presented. No request
  /// is sent.
  ///
  /// `timeout` is 10 s by default; one that is not positive fails with `request/invalid_option`. See
  /// ``CurlTransport/inspect(_:connection:timeout:)``.
  ///
  /// - Throws: `TransportError`, as the engine's ``CurlTransport/inspect(_:connection:timeout:)``.
  public func inspect(
    _ url: String, connection: ConnectionOptions? = nil, timeout: Duration = .seconds(10)
  ) async throws(TransportError) -> ServerTrust {
    try await engine.inspect(url, connection: connection, timeout: timeout)
  }

  /// Takes no more transfers, and returns when the running ones have ended and the engine's threads are gone.
  ///
  /// Optional. When the calling task is cancelled, the running transfers are cancelled too.
  ///
  /// - Parameter cancelling: whether running transfers are cancelled (code `shut_down`) instead of awaited. Default
  ///   false.
  public func shutDown(cancelling: Bool = false) async { await engine.shutDown(cancelling: cancelling) }
}

extension CurlNetworkStack: ConfiguredStack {
  package var configuration: StackConfiguration { stack.configuration }
  package func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError> {
    stack.based(resource)
  }
}
