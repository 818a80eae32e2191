// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// A scripted server on 127.0.0.1, or on a Unix socket, in plaintext or over TLS, that does exactly what its handler
/// does: it may send valid HTTP, invalid HTTP, half a response, a reset, or nothing.
///
/// ```swift
/// let server = try LoopbackServer { connection in
///   _ = try connection.readHead()
///   try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
///   connection.reset()
/// }
/// ```
///
/// It runs on its own threads, one that accepts and one per connection, with small stacks. Some thousands of concurrent
/// connections are possible, given enough descriptors (``raiseDescriptorLimit()``). Dropping the server stops it.
public final class LoopbackServer: Sendable {
  /// A closure that runs once per connection, on the connection's thread. It may block. Its error is recorded in
  /// ``errors`` and closes the connection.
  public typealias Handler = @Sendable (LoopbackConnection) throws -> Void

  /// The endpoint that the server listens on, with the actual port.
  public let endpoint: LoopbackEndpoint
  /// Whether the server uses TLS.
  public let isTLS: Bool

  private let core: LoopbackCore

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - tls: the TLS options. Default: plaintext.
  ///   - handler: handles each connection.
  /// - Throws: ``LoopbackError``: the server cannot listen on the address, or the TLS options are invalid.
  public init(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, handler: @escaping Handler
  ) throws(LoopbackError) {
    let context = try Self.context(tls)
    let listener: Int32
    var socketPath: String?
    switch endpoint {
    case .port(var port):
      listener = cloopback_listen_tcp(&port)
      if listener < 0 { throw .cannotListen("port \(port) of 127.0.0.1 cannot be bound") }
      self.endpoint = .port(port)
    case .unixSocket(let path):
      listener = cloopback_listen_unix(path)
      if listener < 0 { throw .cannotListen("the path \(path) is taken, too long or not writable") }
      self.endpoint = endpoint
      socketPath = path
    }
    isTLS = tls != nil
    core = try LoopbackCore(listener: listener, socketPath: socketPath, tls: context, handler: handler)
    try core.start()
  }

  deinit { core.stop(isLast: true) }

  private static func context(
    _ tls: LoopbackTLS?
  ) throws(LoopbackError) -> LoopbackCore.TLS? {
    guard let tls else { return nil }
    return LoopbackCore.TLS(context: try TLSContext(tls), fault: tls.handshakeFault)
  }

  /// Closes the listener and every connection, and waits until all threads have ended. It may be called from any thread
  /// and more than once; in a handler it does not wait.
  ///
  /// A handler that computes, or blocks on anything other than its connection, delays it.
  public func stop() { core.stop(isLast: false) }

  /// Closes every open connection without close_notify, and continues to accept connections, like a restarted server.
  /// Responses in progress are cut off. It may be called from any thread, and does not wait for the handlers, which see
  /// the end of their connection.
  public func closeConnections() { core.closeConnections() }

  // MARK: addresses

  /// The port; 0 on a Unix socket.
  public var port: Int {
    if case .port(let port) = endpoint { Int(port) } else { 0 }
  }

  /// The base URL, such as `http://127.0.0.1:40123`, without a path. Over TLS the host is `localhost`.
  public var baseURL: String {
    guard case .port(let port) = endpoint else { return isTLS ? "https://localhost" : "http://localhost" }
    return isTLS ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
  }

  // MARK: a certificate that changes

  /// Replaces the TLS options for connections that are accepted from now on, for example to simulate a renewed
  /// certificate. Open connections continue unchanged. It may be called from any thread.
  ///
  /// - Parameters:
  ///   - tls: the new options.
  ///   - keepingSessions: whether earlier sessions may be resumed, so that a client may continue without seeing the new
  ///     certificate. Default false, as after a restart.
  /// - Throws: ``LoopbackError/invalidTLS(_:)`` for invalid options, or for a server without TLS. The server then keeps
  ///   its options.
  public func replaceTLS(_ tls: LoopbackTLS, keepingSessions: Bool = false) throws(LoopbackError) {
    guard let old = core.state.withLock({ $0.tls }) else { throw .invalidTLS("the server was started without TLS") }
    let context = try TLSContext(tls)
    if keepingSessions { try context.takeOverSessions(of: old.context) }
    core.state.withLock { $0.tls = LoopbackCore.TLS(context: context, fault: tls.handshakeFault) }
  }

  // MARK: a slow line

  /// Limits the receive buffers of connections that are accepted from now on. With a handler that reads little at a
  /// time, this simulates a slow network: the kernel acknowledges about as much as was read.
  package func limitReceiveBuffers(to bytes: Int) {
    cloopback_limit_receive_buffers(core.listener, Int32(clamping: bytes))
  }

  // MARK: what happened

  /// The number of connections accepted so far.
  public var acceptedConnections: Int { core.state.withLock { $0.accepted } }
  /// The number of open connections.
  public var openConnections: Int { core.state.withLock { $0.descriptors.count } }
  /// The number of connections whose handler was started; over TLS, the number of completed handshakes.
  public var establishedConnections: Int { core.state.withLock { $0.handshakes } }
  /// The number of full TLS handshakes, in which the client saw the certificate.
  public var fullHandshakes: Int { core.state.withLock { isTLS ? $0.handshakes - $0.resumptions : 0 } }
  /// The number of TLS handshakes that resumed a session (RFC 8446 §2.2, RFC 5077), in which the client saw no
  /// certificate.
  public var resumedHandshakes: Int { core.state.withLock { $0.resumptions } }
  /// The number of bytes that handlers have read on all connections; over TLS, decrypted bytes. 0 proves that no client
  /// data has arrived, provided that the connection was read.
  public var receivedBytes: Int { core.state.withLock { $0.receivedBytes } }
  /// The requests read so far, in the order in which their heads ended.
  public var requests: [LoopbackRequest] { core.state.withLock { $0.requests } }
  /// The errors of handlers, including failed handshakes, in order.
  public var errors: [any Error] { core.state.withLock { $0.errors } }

  /// Waits until the given number of request heads has been read; their bodies may not be complete.
  ///
  /// - Parameters:
  ///   - count: the number of requests.
  ///   - complete: whether to wait for the bodies too. Default false.
  /// - Returns: all requests so far.
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  @discardableResult
  public func waitForRequests(count: Int, complete: Bool = false) async throws -> [LoopbackRequest] {
    if complete {
      try await core.wait(for: count, counting: { $0.completed }, in: \.completionWaiters)
    } else {
      try await core.wait(for: count, counting: { $0.requests.count }, in: \.requestWaiters)
    }
    return requests
  }

  /// Waits until the given number of connections has been accepted.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  public func waitForConnections(count: Int) async throws {
    try await core.wait(for: count, counting: { $0.accepted }, in: \.connectionWaiters)
  }

  /// Raises this process's soft limit of open descriptors to the hard limit (`RLIMIT_NOFILE`), as needed by a test with
  /// thousands of connections.
  ///
  /// - Returns: the limit now in force.
  @discardableResult
  public static func raiseDescriptorLimit() -> Int { Int(clamping: cloopback_raise_descriptor_limit()) }
}
