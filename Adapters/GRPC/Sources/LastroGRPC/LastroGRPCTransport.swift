// SPDX-License-Identifier: Apache-2.0

public import GRPCCore
public import Lastro
internal import Synchronization

/// A transport for clients of grpc-swift-2 that sends their calls with a Lastro stack.
///
/// ```swift
/// let transport = try LastroGRPCTransport("https://grpc.example.com") { try await stack.exchange($0, streamed: $1) }
/// ```
///
/// Pins, proxies, endpoints, breakers, limits and observers apply to calls as they do to fetches. Connections are the
/// stack's, and are opened when calls need them. A call needs HTTP/2: over `https` the server has to offer it, and for
/// `http` the stack's engine needs `connection.httpVersion = .http2`.
///
/// Retries, hedging and timeouts are those of gRPC, from `CallOptions` and the service configuration. The stack repeats
/// only what no server has processed, or what an interceptor asks for. A request that is streamed is never repeated.
/// The error of a failed call has a ``LastroCallFailure`` with the ledger as its cause.
///
/// It may be used from any task or thread.
public final class LastroGRPCTransport: ClientTransport {
  /// The messages as bytes.
  public typealias Bytes = [UInt8]

  /// A closure that sends a request and returns the response with any status: `exchange` of a stack.
  public typealias Exchange =
    @Sendable (_ request: ResourceRequest, _ streamed: Bool) async throws -> Fetched<ResponseBody, ResourceResponse>

  private struct State {
    var calls: [UInt64: GRPCCall] = [:]
    var lastNumber: UInt64 = 0
    var isClosing = false
    /// The callers of `connect()`, which wait for the last call.
    var waiting: [CheckedContinuation<Void, Never>] = []

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      guard isClosing, calls.isEmpty else { return [] }
      defer { waiting = [] }
      return waiting
    }
  }

  /// The throttle of retries, from the service configuration. Default `nil`: retries are not throttled.
  public let retryThrottle: RetryThrottle?
  private let configurations: [MethodConfig.Name: MethodConfig]
  private let maker: RequestMaker
  private let context: (remote: String, local: String)
  private let state = Mutex(State())

  /// Creates a transport over any stack with an exchange.
  ///
  /// - Parameters:
  ///   - baseURL: the scheme, host and port of the server, and a path before those of the methods if it has one.
  ///   - serviceConfig: the configuration of methods, and the throttle of retries. Balancing between servers is the
  ///     stack's, so that part is ignored. Default: none.
  ///   - options: the options of every request. The operation is set to the method. Without timeouts of its own, a call
  ///     has 10 s to connect, and no limit of idle time. Default: none.
  ///   - exchange: the closure that sends a request.
  /// - Throws: `TransportError` with the code `invalid_url` or `unsupported_scheme` for a base URL that is not absolute,
  ///   or has a query or a fragment.
  public init(
    _ baseURL: String, serviceConfig: ServiceConfig = ServiceConfig(), options: RequestOptions = RequestOptions(),
    exchange: @escaping Exchange
  ) throws(TransportError) {
    maker = try RequestMaker(baseURL, options, exchange)
    context = ("http2:\(maker.authority)", "http2:local")
    retryThrottle = serviceConfig.retryThrottling.map { RetryThrottle(policy: $0) }
    var configurations: [MethodConfig.Name: MethodConfig] = [:]
    for configuration in serviceConfig.methodConfig {
      for name in configuration.names { configurations[name] = configuration }
    }
    self.configurations = configurations
  }

  /// Creates a transport over a stack.
  ///
  /// - Parameters:
  ///   - baseURL: the scheme, host and port of the server, and a path before those of the methods if it has one.
  ///   - stack: the stack that sends the requests.
  ///   - serviceConfig: the configuration of methods, and the throttle of retries. Default: none.
  ///   - options: the options of every request. Default: none.
  /// - Throws: the errors of ``init(_:serviceConfig:options:exchange:)``.
  public convenience init(
    _ baseURL: String, over stack: TransportNetworkStack, serviceConfig: ServiceConfig = ServiceConfig(),
    options: RequestOptions = RequestOptions()
  ) throws(TransportError) {
    try self.init(baseURL, serviceConfig: serviceConfig, options: options) {
      try await stack.exchange($0, streamed: $1)
    }
  }

  /// Returns the configuration of a method: its own, that of its service, or the default of all.
  public func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? {
    if configurations.isEmpty { return nil }
    let service = descriptor.service.fullyQualifiedService
    return configurations[MethodConfig.Name(service: service, method: descriptor.method)]
      ?? configurations[MethodConfig.Name(service: service, method: "")]
      ?? configurations[MethodConfig.Name(service: "", method: "")]
  }

  /// Waits until ``beginGracefulShutdown()`` was called and the last call has ended. Cancelling the task cancels all
  /// calls. Opens no connection: each call uses those of the stack.
  public func connect() async throws {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { state in
          state.waiting.append(continuation)
          return state.takeWaiting()
        }
        for waiting in ready { waiting.resume() }
      }
    } onCancel: {
      beginGracefulShutdown()
      let calls = state.withLock { Array($0.calls.values) }
      for call in calls { call.fail(RPCError(code: .cancelled, message: "the client was stopped")) }
    }
  }

  /// Accepts no more calls. Calls under way continue. The stack and its connections stay as they are.
  public func beginGracefulShutdown() {
    let ready = state.withLock { state in
      state.isClosing = true
      return state.takeWaiting()
    }
    for waiting in ready { waiting.resume() }
  }

  /// Opens the stream of a call for a closure, and closes it afterwards. A stream that has not ended by then is reset
  /// (`CANCEL`).
  ///
  /// - Throws: `RPCError` with the code `failedPrecondition` after ``beginGracefulShutdown()``; else the errors of the
  ///   closure.
  public func withStream<T: Sendable>(
    descriptor: MethodDescriptor, options: CallOptions,
    _ closure: (_ stream: RPCStream<Inbound, Outbound>, _ context: ClientContext) async throws -> T
  ) async throws -> T {
    let call = GRPCCall(descriptor, options, maker)
    let number = try begin(call)
    defer {
      call.close()
      end(number)
    }
    let stream = RPCStream<Inbound, Outbound>(
      descriptor: descriptor, inbound: Inbound(wrapping: ResponseParts(call: call)),
      outbound: Outbound(wrapping: RequestWriter(call: call)))
    return try await closure(
      stream, ClientContext(descriptor: descriptor, remotePeer: context.remote, localPeer: context.local))
  }

  private func begin(_ call: GRPCCall) throws -> UInt64 {
    try state.withLock { state in
      guard !state.isClosing else {
        throw RPCError(code: .failedPrecondition, message: "the transport is closed: create another client")
      }
      state.lastNumber += 1
      state.calls[state.lastNumber] = call
      return state.lastNumber
    }
  }

  private func end(_ number: UInt64) {
    let ready = state.withLock { state in
      state.calls[number] = nil
      return state.takeWaiting()
    }
    for waiting in ready { waiting.resume() }
  }
}
