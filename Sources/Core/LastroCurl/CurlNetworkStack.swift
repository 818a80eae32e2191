// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Lastro

/// The network stack on libcurl. Create one for a program, and share it.
///
/// ```swift
/// let github = try CurlNetworkStack()
/// let repository = try await github.fetch(.repository("apple", "swift")).value
/// ```
///
/// Stacks with another base URL or other interceptors, and dialers for protocols other than HTTP, can share its engine:
/// its threads, connections, limits and pins.
///
/// ```swift
/// let shop = CurlNetworkStack(
///   sharing: github, configuration: StackConfiguration(baseURL: "https://api.shop.example"))
/// let socket = try await WebSocketClient(dialer: github.dialer).connect("wss://example.com/feed")
/// ```
///
/// It may be used from any task or thread. It needs no shutdown: a released stack ends when its fetches and bodies in
/// flight have ended. `LastroLifecycle` makes it a `Service` of swift-service-lifecycle.
public struct CurlNetworkStack: HTTPNetworkStack {
  /// The engine, with its threads, connections, limits and pins, as a transport for stacks over transports of your own.
  ///
  /// ```swift
  /// let counted = TransportNetworkStack(transport: CountingTransport(next: stack.engine))
  /// ```
  ///
  /// It keeps the engine running after the stack is released. ``shutDown(cancelling:)`` of the stack shuts it down.
  public var engine: any Transport { transport }
  package let transport: CurlTransport
  private let stack: TransportNetworkStack

  /// Starts the engine.
  ///
  /// - Parameters:
  ///   - engine: threads, connections, limits. Default `CurlConfiguration()`.
  ///   - configuration: interceptors, time limits, redirects. Default `StackConfiguration()`.
  /// - Throws: `ConfigurationError` for an invalid value, including the base URL, or if there are not enough threads or
  ///   descriptors.
  public init(
    _ engine: CurlConfiguration = CurlConfiguration(), configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) {
    try configuration.checkBaseURL()
    self.init(sharing: try CurlTransport(engine), configuration: configuration)
  }

  /// Creates a stack for one API, on an engine of its own with default settings.
  ///
  /// ```swift
  /// let shop = try CurlNetworkStack(baseURL: "https://api.shop.example", interceptors: [.retry])
  /// ```
  ///
  /// A stack for another API can share the engine:
  ///
  /// ```swift
  /// let rates = CurlNetworkStack(
  ///   sharing: shop, configuration: StackConfiguration(baseURL: "https://rates.example", interceptors: [.retry]))
  /// ```
  ///
  /// - Parameters:
  ///   - baseURL: the base URL of endpoints, and of URLs that begin with `/`.
  ///   - interceptors: the interceptors of every fetch. Default none.
  /// - Throws: the errors of ``init(_:configuration:)``.
  public init(
    baseURL: some URLConvertible, interceptors: [any HTTPResourceInterceptor] = []
  ) throws(ConfigurationError) {
    try self.init(configuration: StackConfiguration(baseURL: baseURL.urlText, interceptors: interceptors))
  }

  /// Creates another stack on the engine of an existing stack, for example with another base URL.
  ///
  /// Only the engine is shared, with its threads, connections, limits and pins: base URL, interceptors, quota and
  /// observers are those of `configuration`. An unusable base URL fails every fetch with `invalid_url`. Shutting down
  /// any of the stacks shuts down the engine for all of them.
  ///
  /// - Parameters:
  ///   - other: the stack whose engine sends the requests.
  ///   - configuration: base URL, interceptors, time limits, redirects. Default `StackConfiguration()`.
  public init(sharing other: CurlNetworkStack, configuration: StackConfiguration = StackConfiguration()) {
    self.init(sharing: other.transport, configuration: configuration)
  }

  /// Creates a stack on an existing engine.
  package init(sharing engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()) {
    transport = engine
    stack = TransportNetworkStack(transport: engine, configuration: configuration)
  }

  /// An executor that runs tasks on the thread of an event loop, so that a request does not switch threads. It is meant
  /// for tasks that mainly fetch, one after the other or many at a time. Nothing runs there unless you use it.
  ///
  /// ```swift
  /// try await withTaskExecutorPreference(stack.executor) {
  ///   for page in pages { try await store.add(stack.fetch(page).value) }
  /// }
  /// ```
  ///
  /// The thread runs all connections of the loop: the work of a task between two `await` delays every request, deadline
  /// and handshake of that loop. So do not block there (on locks that are held for long, files, `getaddrinfo`, or a
  /// semaphore), and move computations of more than about 100 µs elsewhere: hooks of interceptors, decoding of large
  /// bodies, work of your own. `withTaskExecutorPreference(globalConcurrentExecutor)` leaves the thread. A suspended
  /// task delays nothing.
  ///
  /// The executor may outlive the engine, whose thread lives as long as the executor does. After
  /// ``shutDown(cancelling:)``, its tasks run on Swift's own threads.
  ///
  /// With several loops, each access may return the executor of a different loop. A request still runs on the loop that
  /// has the connections to its host, unless a connection is idle on the task's own loop.
  public var executor: any TaskExecutor { transport.executor }

  /// The number of transfers that have begun and not ended, including those that wait for a connection.
  public var activeTransfers: Int { transport.activeTransfers }

  /// Replaces settings of the stack, and of all its copies, while it is in use.
  ///
  /// Calls that begin afterwards have the new settings; calls under way keep the ones that they began with. Interceptors,
  /// observers, the retry quota, cookies, caches and the parts of a `Resilience` keep their state unless `change`
  /// replaces them. The engine and its connections stay as they are, and so do other stacks that share it.
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
    try stack.reconfigure(change)
  }

  /// Fetches a resource and decodes its model.
  ///
  /// - Throws: `HTTPFetchError` with the API's own error if the server sent one; if the task is cancelled, always the
  ///   cancellation error.
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    try await stack.fetch(resource)
  }

  /// Opens a resource as a stream. Returns when the head of a 2xx response has been received.
  ///
  /// - Throws: the same errors as the typed `fetch`; failures of the body are thrown by `ResponseBody`.
  public func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
    try await stack.stream(resource)
  }

  /// Sends a request, and returns the last response regardless of its status; see `TransportNetworkStack.exchange`.
  ///
  /// - Parameters:
  ///   - request: the request that every attempt sends.
  ///   - streamed: whether the body is returned as a stream. Default false: the body is in memory.
  /// - Throws: `HTTPFetchError` if there is no response; never because of a status.
  public func exchange(
    _ request: ResourceRequest, streamed: Bool = false
  ) async throws(HTTPFetchError<any Error>) -> Fetched<ResponseBody, ResourceResponse> {
    try await stack.exchange(request, streamed: streamed)
  }

  /// Returns a page of text about how a resource would be fetched, without using the network; see
  /// `TransportNetworkStack.explain`.
  ///
  /// - Parameters:
  ///   - resource: the resource to explain.
  ///   - asStream: whether it would be opened as a stream, which has other limits. Default false.
  public func explain<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, asStream: Bool = false
  ) async -> String {
    await stack.explain(resource, asStream: asStream)
  }

  /// Connects to a server as a fetch would, checks its chain and host name, and returns the certificates that it
  /// presented. No request is sent, and the connection is closed.
  ///
  /// Use it to find and check pins: `ServerTrust.chain` has the pins of the verified chain.
  ///
  /// - Parameters:
  ///   - url: an `https` URL; only scheme, host and port are used.
  ///   - connection: the connection options. Default: the engine's own options.
  ///   - timeout: the limit of the whole operation. Default 10 s; a value that is not positive fails with
  ///     `request/invalid_option`.
  /// - Throws: `TransportError`, as a fetch would: for an untrusted chain, for another host's certificate, and for a
  ///   server that a trust judge refuses. The last has the chain in `trustFailure`.
  public func inspect(
    _ url: String, connection: ConnectionOptions? = nil, timeout: Duration = .seconds(10)
  ) async throws(TransportError) -> ServerTrust {
    try await transport.inspect(url, connection: connection, timeout: timeout)
  }

  /// The state at this moment: connections, and the circuits, limits and quotas of the stack's resilience.
  ///
  /// It may be read from any thread. On the thread of an event loop, as in a trust judge, it lacks the connections of
  /// that loop.
  public var snapshot: StackSnapshot { stack.snapshot }

  /// Serves ``snapshot`` on a Unix socket until the task is cancelled; see `TransportNetworkStack.serveSnapshot`.
  ///
  /// ```swift
  /// let serving = Task { try await stack.serveSnapshot(at: "/run/shop/lastro.sock") }
  /// ```
  ///
  /// - Parameter path: the path of the socket.
  /// - Throws: `ConfigurationError` if the socket cannot be made.
  public func serveSnapshot(at path: String) async throws(ConfigurationError) {
    try await stack.serveSnapshot(at: path)
  }

  /// Opens connections before the first request needs them, for example before a service reports that it is ready.
  ///
  /// ```swift
  /// try await stack.warm(["https://api.shop.example"], connections: 4)
  /// ```
  ///
  /// Each connection is dialed as for a fetch, with its pins, and is kept as an idle connection: it closes after
  /// ``CurlConfiguration/idleLifetime``. Nothing is sent on it. Open connections count, so that a second call opens only
  /// those that have closed since.
  ///
  /// - Parameters:
  ///   - urls: the URLs of the servers; only scheme, host and port are used. Default: the base URL of the stack.
  ///   - connections: the number of connections to each server: at least 1, and at most as many as the engine keeps
  ///     (``CurlConfiguration/connectionsPerHost``, of which a host's home has three quarters if there are several loops,
  ///     and ``CurlConfiguration/idleConnections``). Default 1. To a server with HTTP/2, one connection is opened,
  ///     whatever the number.
  ///   - connection: the connection options. Default: the engine's own options.
  ///   - timeout: the limit of the whole operation. Default 10 s; a value that is not positive fails with
  ///     `request/invalid_option`.
  /// - Throws: `TransportError`: the first error in the order of `urls`, after all dials have ended. Connections to
  ///   other servers stay open. Cancelling the task ends the dials.
  public func warm(
    _ urls: [String] = [], connections: Int = 1, connection: ConnectionOptions? = nil,
    timeout: Duration = .seconds(10)
  ) async throws(TransportError) {
    let servers = urls.isEmpty ? [configuration.baseURL].compactMap(\.self) : urls
    guard !servers.isEmpty else {
      throw .refused(
        .invalidURL, "neither a URL nor a base URL is set", hint: "give URLs, or give the stack a base URL")
    }
    let errors = await withTaskGroup(of: (Int, TransportError)?.self) { group in
      for (index, url) in servers.enumerated() {
        group.addTask { [transport] in
          do throws(TransportError) {
            try await transport.warm(url, connections: connections, connection: connection, timeout: timeout)
            return nil
          } catch {
            return (index, error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
    }
    if let first = errors.min(by: { $0.0 < $1.0 }) { throw first.1 }
  }

  /// Accepts no more transfers, and returns when the running ones and the engine's threads have ended.
  ///
  /// Calling it is optional. If the calling task is cancelled, the running transfers are cancelled, too.
  ///
  /// - Parameter cancelling: whether running transfers are cancelled (code `shut_down`) instead of awaited. Default
  ///   false.
  public func shutDown(cancelling: Bool = false) async { await transport.shutDown(cancelling: cancelling) }
}

extension CurlNetworkStack: IdentityWatching {
  package func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    transport.identityRevisions(for: options)
  }
}

extension CurlNetworkStack: ConfiguredStack {
  package var configuration: StackConfiguration { stack.configuration }
  package func based<Model, APIError>(_ resource: HTTPResource<Model, APIError>) -> HTTPResource<Model, APIError> {
    stack.based(resource)
  }
}
